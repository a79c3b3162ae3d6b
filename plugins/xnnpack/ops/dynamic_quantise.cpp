// SPDX-License-Identifier: Apache-2.0
// The three nodes of dynamic quantisation only name their tensor; the linear layer after them converts it
// (linear.cpp).
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status pass_on(Lowering& l, const char* name) {
  ETB_ASSIGN(const uint32_t input, l.value(name));
  ETB_ASSIGN(const uint32_t scale, l.value("scale"));
  const auto source = l.dynamic_source(scale);
  if (!source) return Lowering::refuse("quant", "scale: of no tensor of this region");
  if (l.dynamic_source(input).value_or(input) != *source)
    return Lowering::refuse("quant", "scale: of another tensor");
  l.define_dynamic(l.result(), *source);
  return {};
}

Status lower_choose_qparams(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_TRY(l.form(input));
  for (uint32_t i = 0; i < l.result_count(); ++i) l.define_dynamic(l.result(i), input);
  return {};
}

Status lower_quantize_dynamic(Lowering& l) { return pass_on(l, "input"); }
Status lower_dequantize_dynamic(Lowering& l) { return pass_on(l, "input"); }

constexpr Op kRows[] = {
    {.name = "quantized_decomposed.choose_qparams.tensor",
     .lower = lower_choose_qparams,
     .dtypes = kFloat32Only,
     .constraint = "All that reads it ends in linear layers with constant int8 weights.",
     .traits = kStartsChain},
    {.name = "quantized_decomposed.quantize_per_tensor.tensor",
     .lower = lower_quantize_dynamic,
     .dtypes = kFloat32Only,
     .constraint = "As part of a dynamically quantised linear layer.",
     .traits = kInChain},
    {.name = "quantized_decomposed.dequantize_per_tensor.tensor",
     .lower = lower_dequantize_dynamic,
     .dtypes = kInt8Only,
     .constraint = "As part of a dynamically quantised linear layer.",
     .traits = kFolds | kInChain},
};

}  // namespace

extern const OpList dynamic_quantise_ops = kRows;

}  // namespace etb::xnnpack
