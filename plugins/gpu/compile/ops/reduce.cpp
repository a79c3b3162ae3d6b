// SPDX-License-Identifier: Apache-2.0
// Sums, means, maxima and minima over dimensions.
#include <algorithm>

#include "plugins/gpu/compile/element_nodes.hpp"
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

Status add_reduction(LoweringContext& context, Reduction reduction, uint32_t value, uint32_t self) {
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
  const bool needs_elements = reduction != Reduction::kSum && reduction != Reduction::kMean;
  const bool is_position = reduction == Reduction::kArgMaximum || reduction == Reduction::kArgMinimum;
  for (uint32_t d = 0; d < spec.rank; ++d)
    if (needs_elements && (mask >> d & 1) != 0 && spec.min_sizes[d] == 0)
      return reject((spec.dynamic_dims >> d & 1) != 0 ? "dynamic" : "attribute",
                    "dim " + std::to_string(d) + ": may be empty, expected at least 1");
  return context.add_result_node(
      {Operator::kReduce,
       {self},
       kNoValue,
       {static_cast<int32_t>(reduction), static_cast<int32_t>(mask), keeps ? 1 : 0}},
      0, is_position ? Entered::kIndices : Entered::kFloatsOrBools);
}

template <Reduction reduction>
Status lower_reduction(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.operand(value));
  return add_reduction(context, reduction, value, self);
}

// Positions of extremes, of one dimension or of all. They become integers in the host's memory.
template <Reduction reduction>
Status lower_position(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.operand(value));
  return add_reduction(context, reduction, value, self);
}

// The largest of 0 and 1 is whether any is true, the smallest whether all are.
template <Reduction reduction>
Status lower_truth(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(uint32_t self, context.moved_operand(value));
  if (context.spec(value).dtype != ETB_DTYPE_BOOL) self = context.add_node(truth_node(context, self));
  return add_reduction(context, reduction, value, self);
}

constexpr Op kRows[] = {
    {"aten.sum.dim_IntList", lower_reduction<Reduction::kSum>},
    {"aten.mean.dim", lower_reduction<Reduction::kMean>},
    {"aten.amax.default", lower_reduction<Reduction::kMaximum>, 0, kMaxRank,
     "No reduced dimension may be empty."},
    {"aten.amin.default", lower_reduction<Reduction::kMinimum>, 0, kMaxRank,
     "No reduced dimension may be empty."},
    {"aten.sum.default", lower_reduction<Reduction::kSum>},
    {"aten.mean.default", lower_reduction<Reduction::kMean>},
    {"aten.max.default", lower_reduction<Reduction::kMaximum>, 0, kMaxRank, "The operand may not be empty."},
    {"aten.min.default", lower_reduction<Reduction::kMinimum>, 0, kMaxRank, "The operand may not be empty."},
    {"aten.argmax.default", lower_position<Reduction::kArgMaximum>, 0, kMaxRank,
     "The reduced dimension may not be empty."},
    {"aten.argmin.default", lower_position<Reduction::kArgMinimum>, 0, kMaxRank,
     "The reduced dimension may not be empty."},
    {"aten.any.dim", lower_truth<Reduction::kMaximum>, 0, kMaxRank, "The dimension may not be empty.", false,
     kFloatOrBool},
    {"aten.any.dims", lower_truth<Reduction::kMaximum>, 0, kMaxRank, "No reduced dimension may be empty.",
     false, kFloatOrBool},
    {"aten.any.default", lower_truth<Reduction::kMaximum>, 0, kMaxRank, "The operand may not be empty.",
     false, kFloatOrBool},
    {"aten.all.dim", lower_truth<Reduction::kMinimum>, 0, kMaxRank, "The dimension may not be empty.", false,
     kFloatOrBool},
    {"aten.all.default", lower_truth<Reduction::kMinimum>, 0, kMaxRank, "The operand may not be empty.",
     false, kFloatOrBool},
};

}  // namespace

extern const OpList reduce_ops = kRows;

}  // namespace etb::gpu
