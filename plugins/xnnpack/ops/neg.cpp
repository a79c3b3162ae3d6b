// SPDX-License-Identifier: Apache-2.0
// Negation, as a product with -1.
#include "ops/neg.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// XNNPACK's own negation maps 0 to 0 instead of -0.
Status lower_neg(LoweringContext& context, ops::neg_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  const uint32_t factor = context.builder().add_floats({1}, {-1}, input.id);
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  context.builder().add_node(XnnOperator::kMultiply, {input.id, factor}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::neg_default, lower_neg>({.min_rank = 1}),
};

}  // namespace

extern const OpList neg_ops = kRows;

}  // namespace etb::xnnpack
