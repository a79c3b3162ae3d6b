// SPDX-License-Identifier: Apache-2.0
// Sums, means, maxima and minima over dimensions.
#include <algorithm>

#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

template <Reduction reduction>
Status lower_reduction(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.operand(value));
  ETB_ASSIGN(const std::vector<int64_t> dims, context.args().integers("dim"));
  ETB_ASSIGN(const bool keeps, context.args().flag("keepdim", false));
  const etb_graph_spec spec = context.spec(value);
  uint32_t mask = dims.empty() ? (1u << spec.rank) - 1 : 0;  // no dimensions: all
  for (const int64_t dim : dims) {
    const int64_t counted = dim < 0 ? dim + std::max<int64_t>(spec.rank, 1) : dim;
    if (counted < 0 || counted >= std::max<int64_t>(spec.rank, 1))
      return reject("attribute", "dim: " + std::to_string(dim) + ", rank is " + std::to_string(spec.rank));
    if (spec.rank > 0) mask |= 1u << counted;
  }
  constexpr bool kNeedsElements = reduction == Reduction::kMaximum || reduction == Reduction::kMinimum;
  for (uint32_t d = 0; d < spec.rank; ++d)
    if (kNeedsElements && (mask >> d & 1) != 0 && spec.min_sizes[d] == 0)
      return reject("dynamic", "dim " + std::to_string(d) + ": may be empty, expected at least 1");
  return context.add_result_node(
      {Operator::kReduce,
       {self},
       kNoValue,
       {static_cast<int32_t>(reduction), static_cast<int32_t>(mask), keeps ? 1 : 0}});
}

constexpr Op kRows[] = {
    {"aten.sum.dim_IntList", lower_reduction<Reduction::kSum>},
    {"aten.mean.dim", lower_reduction<Reduction::kMean>},
    {"aten.amax.default", lower_reduction<Reduction::kMaximum>, 0, kMaxRank,
     "No reduced dimension may be empty."},
    {"aten.amin.default", lower_reduction<Reduction::kMinimum>, 0, kMaxRank,
     "No reduced dimension may be empty."},
};

}  // namespace

extern const OpList reduce_ops = kRows;

}  // namespace etb::gpu
