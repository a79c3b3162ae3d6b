// SPDX-License-Identifier: Apache-2.0
// GELU, exact or with the tanh approximation.
#include "ops/gelu.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), PyTorch's definition of the approximation. The form x (a
// + b x^2) saves one operator.
uint32_t add_gelu_tanh(XnnGraphBuilder& builder, uint32_t input) {
  const auto number = [&](double value) {
    return builder.add_floats({1}, {static_cast<float>(value)}, input);
  };
  const Extents extents = builder.extents(input);
  const auto binary = [&](XnnOperator op, uint32_t a, uint32_t b) {
    return add_binary(builder, op, a, b, extents);
  };
  constexpr double kRoot = 0.7978845608028654;  // sqrt(2 / pi)
  uint32_t inner = add_unary(builder, XnnOperator::kSquare, input);
  inner = binary(XnnOperator::kMultiply, inner, number(kRoot * 0.044715));
  inner = binary(XnnOperator::kAdd, inner, number(kRoot));
  inner = binary(XnnOperator::kMultiply, inner, input);
  inner = add_unary(builder, XnnOperator::kTanh, inner);
  inner = binary(XnnOperator::kMultiply, inner, number(0.5));
  inner = binary(XnnOperator::kAdd, inner, number(0.5));
  return binary(XnnOperator::kMultiply, inner, input);
}

// Small results of large inputs are differences: float16 has too few digits for them, so it is widened.
Status lower_gelu(LoweringContext& context, ops::gelu_default<NodeArguments> args) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  const uint32_t wide = add_widened(builder, input.id);
  const uint32_t made = args.approximate().text() == "tanh" ? add_gelu_tanh(builder, wide)
                                                            : add_unary(builder, XnnOperator::kGelu, wide);
  if (wide == input.id) {
    context.define(context.result(), {made, input.perm});
    return {};
  }
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  builder.add_node(XnnOperator::kConvert, {made}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::gelu_default, lower_gelu>({.min_rank = 1}),
};

}  // namespace

extern const OpList gelu_ops = kRows;

}  // namespace etb::xnnpack
