// SPDX-License-Identifier: Apache-2.0
// PReLU with constant slopes.
#include "ops/prelu.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_prelu(LoweringContext& context, ops::prelu_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const ConstantPtr slopes, context.constant(args.weight()));
  // Slopes apply along dimension 1, which XNNPACK expects last.
  const size_t rank = context.graph().rank(self);
  if (rank < 2) return reject("rank", "input of rank ", rank, ", expected 2 or more");
  Permutation order = identity(rank);
  for (size_t i = 2; i < rank; ++i) --order[i];
  order[1] = static_cast<uint32_t>(rank - 1);
  ETB_ASSIGN(const uint32_t input, context.arranged(self, order));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, order));
  const int64_t channels = context.graph().sizes(self)[1];
  if (numel_of(slopes->sizes) != channels && numel_of(slopes->sizes) != 1)
    return reject("attribute", "weight, expected one element, or one a channel");
  const ConstantPtr wide = numel_of(slopes->sizes) == channels ? slopes : expanded(slopes, {channels});
  context.builder().add_node(
      XnnOperator::kPrelu,
      {input, context.builder().add_constant(wide, context.builder().value(input).datatype)}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::prelu_default, lower_prelu>(
        {.min_rank = 1, .constraint = "The weight is a constant.", .traits = kPreserved}),
};

}  // namespace

extern const OpList prelu_ops = kRows;

}  // namespace etb::xnnpack
