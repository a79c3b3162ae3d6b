// SPDX-License-Identifier: Apache-2.0
// Views that keep the elements in their order.
#include "plugins/gpu/compile/op.hpp"

namespace etb::gpu {

namespace {

// Adds a reshape to the sizes of the result. A dynamic size is a copy of an operand's by the same formula, or what the other
// dimensions leave.
Status lower_view(LoweringContext& context) {
  ETB_ASSIGN(const uint32_t value, context.args().tensor("self"));
  ETB_ASSIGN(const uint32_t self, context.moved_operand(value));
  const etb_graph_spec from = context.spec(value), to = context.spec(context.result());
  if (to.rank > kMaxRank) return reject("rank", "result of rank " + std::to_string(to.rank));
  GpuNode node{Operator::kReshape, {self}};
  bool has_inferred = false;
  for (uint32_t d = 0; d < to.rank; ++d) {
    if ((to.dynamic_dims >> d & 1) == 0) {
      node.ints.push_back(to_int32(to.sizes[d]));
      continue;
    }
    uint32_t source = 0;
    while (source < from.rank && (from.exprs[source] == graph::kNone || from.exprs[source] != to.exprs[d]))
      ++source;
    if (source == from.rank && has_inferred)
      return reject("dynamic", "two dynamic sizes that are no operand's");
    has_inferred = has_inferred || source == from.rank;
    node.ints.push_back(source == from.rank ? kInferredSize : kCopiedSize - static_cast<int32_t>(source));
  }
  // The rest of a size that may be 0 is unknown.
  for (uint32_t d = 0; has_inferred && d < to.rank; ++d)
    if (node.ints[d] != kInferredSize && to.min_sizes[d] == 0)
      return reject("dynamic", "sizes beside one that may be 0");
  return context.add_result_node(std::move(node));
}

constexpr Op kRows[] = {
    {"aten.view_copy.default", lower_view, 0, kMaxRank, "At most one dynamic size is no size of the operand.",
     false, kFloatOrBool},
    {.name = "aten.unsqueeze_copy.default", .lower = lower_view, .dtypes = kFloatOrBool},
    {.name = "aten.squeeze_copy.dims", .lower = lower_view, .dtypes = kFloatOrBool},
};

}  // namespace

extern const OpList views_ops = kRows;

}  // namespace etb::gpu
