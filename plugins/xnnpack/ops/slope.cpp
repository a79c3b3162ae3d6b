// SPDX-License-Identifier: Apache-2.0
// Activations with one parameter.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_elu(Lowering& l) {
  ETB_ASSIGN(const double alpha, l.number("alpha", 1));
  ETB_ASSIGN(const double scale, l.number("scale", 1));
  ETB_ASSIGN(const double input_scale, l.number("input_scale", 1));
  if (scale != 1 || input_scale != 1) return Lowering::refuse("attribute", "scale, expected 1");
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kElu, {input.id}, {out}).value = static_cast<float>(alpha);
  return {};
}

Status lower_leaky_relu(Lowering& l) {
  ETB_ASSIGN(const double slope, l.number("negative_slope", 0.01));
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kLeakyRelu, {input.id}, {out}).value = static_cast<float>(slope);
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.elu.default",
     .lower = lower_elu,
     .quantised = QuantKind::kComputes,
     .constraint = "scale and input_scale are 1."},
    {.name = "aten.leaky_relu.default", .lower = lower_leaky_relu, .quantised = QuantKind::kComputes},
};

}  // namespace

extern const OpList slope_ops = kRows;

}  // namespace etb::xnnpack
