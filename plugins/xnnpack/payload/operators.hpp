// SPDX-License-Identifier: Apache-2.0
// Facts about the operators of a payload, from the columns of operators.def.
#pragma once

#include <string_view>

#include "plugins/xnnpack/payload/payload.hpp"

namespace etb::xnnpack {

// Place where XNNPACK computes the clamp of a node's result.
enum class XnnClamp : uint8_t {
  kNone,         // the node has no clamp
  kInside,       // in the operator. XNNPACK also fuses a Clamp node after it
  kAfter,        // in an operator of its own. XNNPACK fuses it with a Clamp node after it
  kAfterUnused,  // as kAfter, but no exporter writes it
  kMerged,       // a Clamp node: XNNPACK fuses it with another one after it
};

struct XnnOperatorFacts {
  std::string_view events;
  XnnClamp clamp;
};

XnnOperatorFacts facts_of(XnnOperator op);

// True if the compiler may put a clamp into the node.
inline bool can_clamp(XnnOperator op) {
  const XnnClamp clamp = facts_of(op).clamp;
  return clamp == XnnClamp::kInside || clamp == XnnClamp::kAfter;
}
// True if XNNPACK runs the node's clamp as an operator of its own.
inline bool has_clamp_operator(const XnnNode& node) {
  const XnnClamp clamp = facts_of(node.op).clamp;
  return node.is_clamped && (clamp == XnnClamp::kAfter || clamp == XnnClamp::kAfterUnused);
}
// True if XNNPACK fuses a Clamp node after this one.
inline bool fuses_clamp(const XnnNode& node) {
  const XnnClamp clamp = facts_of(node.op).clamp;
  return clamp == XnnClamp::kInside || clamp == XnnClamp::kMerged || has_clamp_operator(node);
}

}  // namespace etb::xnnpack
