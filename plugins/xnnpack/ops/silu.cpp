// SPDX-License-Identifier: Apache-2.0
// SiLU: x * sigmoid(x).
#include "ops/silu.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// In float16 the sigmoid of a number below -9.7 is subnormal, and 0 in XNNPACK. Its product with the number is not, so
// float16 is widened.
Status lower_silu(LoweringContext& context, ops::silu_default<NodeArguments> args) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  const uint32_t wide = add_widened(builder, input.id);
  const uint32_t gate = add_unary(builder, XnnOperator::kSigmoid, wide);
  if (wide == input.id) {
    ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
    builder.add_node(XnnOperator::kMultiply, {wide, gate}, {out});
    return {};
  }
  const uint32_t product = add_binary(builder, XnnOperator::kMultiply, wide, gate, builder.extents(wide));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  builder.add_node(XnnOperator::kConvert, {product}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::silu_default, lower_silu>(),
};

}  // namespace

extern const OpList silu_ops = kRows;

}  // namespace etb::xnnpack
