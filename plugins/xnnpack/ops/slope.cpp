// SPDX-License-Identifier: Apache-2.0
// Activations with one parameter.
#include <cmath>

#include "ops/elu.hpp"
#include "ops/leaky_relu.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_elu(LoweringContext& context, ops::elu_default<NodeArguments> args) {
  ETB_ASSIGN(const double alpha, args.alpha().number_or(1));
  ETB_ASSIGN(const double scale, args.scale().number_or(1));
  ETB_ASSIGN(const double input_scale, args.input_scale().number_or(1));
  if (scale != 1 || input_scale != 1) return reject("attribute", "scale, expected 1");
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  context.builder().add_node(XnnOperator::kElu, {input.id}, {out}).value = static_cast<float>(alpha);
  return {};
}

// Rejects multipliers of codes beyond XNNPACK's, which have 16 bits, 8 of them after the point.
Status check_multipliers(LoweringContext& context, uint32_t input, uint32_t output, double slope) {
  constexpr double kLargest = 127;
  if (!context.is_quantised()) return {};
  const double ratio = double{context.builder().value(input).scale} / context.builder().value(output).scale;
  for (const double multiplier : {ratio, ratio * slope}) {
    if (!(std::abs(multiplier) <= kLargest))
      return reject("quant", "codes times ", multiplier, ", expected at most ", kLargest);
  }
  return {};
}

Status lower_leaky_relu(LoweringContext& context, ops::leaky_relu_default<NodeArguments> args) {
  ETB_ASSIGN(const double slope, args.negative_slope().number_or(0.01));
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  ETB_TRY(check_multipliers(context, input.id, out, slope));
  context.builder().add_node(XnnOperator::kLeakyRelu, {input.id}, {out}).value = static_cast<float>(slope);
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::elu_default, lower_elu>(
        {.quantised = QuantKind::kComputes, .constraint = "scale and input_scale are 1."}),
    op_row<ops::leaky_relu_default, lower_leaky_relu>({.quantised = QuantKind::kComputes}),
};

}  // namespace

extern const OpList slope_ops = kRows;

}  // namespace etb::xnnpack
