#include <map>

#include "plugins/xnnpack/ops/ops.hpp"
#include "plugins/xnnpack/ops/rows.hpp"

namespace etb::xnnpack {

namespace {

// Position in ops.def by name.
const std::map<std::string_view, size_t>& positions() {
  static const std::map<std::string_view, size_t> kPositions = [] {
    std::map<std::string_view, size_t> made;
    for (size_t i = 0; i < std::size(kOpRows); ++i) made.emplace(kOpRows[i].op, i);
    return made;
  }();
  return kPositions;
}

constexpr LowerFunction kLower[] = {
#define ETB_XNN_OP(op, lower, quantised, dtypes, min_rank, max_rank, constraint) lower,
#include "plugins/xnnpack/ops/ops.def"
#undef ETB_XNN_OP
};

constexpr QuantKind kQuantKinds[] = {
#define ETB_XNN_OP(op, lower, quantised, dtypes, min_rank, max_rank, constraint) QuantKind::quantised,
#include "plugins/xnnpack/ops/ops.def"
#undef ETB_XNN_OP
};

}  // namespace

QuantKind find_quant_kind(std::string_view op) {
  const auto found = positions().find(op);
  return found == positions().end() ? QuantKind::kFloatOnly : kQuantKinds[found->second];
}

const OpRow* find_row(std::string_view op) {
  const auto found = positions().find(op);
  return found == positions().end() ? nullptr : &kOpRows[found->second];
}

LowerFunction find_lower(std::string_view op) {
  const auto found = positions().find(op);
  return found == positions().end() ? nullptr : kLower[found->second];
}

}  // namespace etb::xnnpack
