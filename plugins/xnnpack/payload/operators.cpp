// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/payload/operators.hpp"

namespace etb::xnnpack {

const char* to_text(XnnOperator op) {
  switch (op) {
    case XnnOperator::kNone:
      return "none";
#define ETB_XNN_OPERATOR(name, ...) \
  case XnnOperator::k##name:        \
    return #name;
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
  }
  return "?";
}

XnnOperatorFacts facts_of(XnnOperator op) {
  switch (op) {
#define ETB_XNN_OPERATOR(name, body, datatypes, flags, sizes, define, events, clamp) \
  case XnnOperator::k##name:                                                         \
    return {events, XnnClamp::k##clamp};
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
    case XnnOperator::kNone:
      break;
  }
  return {"", XnnClamp::kNone};
}

}  // namespace etb::xnnpack
