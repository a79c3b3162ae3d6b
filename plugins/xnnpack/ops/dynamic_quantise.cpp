// SPDX-License-Identifier: Apache-2.0
// The three nodes of dynamic quantisation only name their tensor; the linear layer after them converts it
// (linear.cpp).
#include "ops/quantized_decomposed/choose_qparams.hpp"
#include "ops/quantized_decomposed/dequantize_per_tensor.hpp"
#include "ops/quantized_decomposed/quantize_per_tensor.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Arguments of quantize_per_tensor and dequantize_per_tensor.
struct TensorParamsArguments {
  template <class View>
  explicit TensorParamsArguments(const View& args) : input(args.input()), scale(args.scale()) {}

  NodeArguments::Tensor input, scale;
};

Status lower_conversion(LoweringContext& context, TensorParamsArguments args) {
  ETB_ASSIGN(const uint32_t input, args.input.id());
  ETB_ASSIGN(const uint32_t scale, args.scale.id());
  const auto source = context.values().dynamic_source(scale);
  if (!source) return reject("quant", "scale: of no tensor of this region");
  if (context.values().dynamic_source(input).value_or(input) != *source)
    return reject("quant", "scale: of another tensor");
  context.values().define_dynamic(context.result(), *source);
  return {};
}

Status lower_choose_qparams(LoweringContext& context,
                            ops::quantized_decomposed::choose_qparams_tensor<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_TRY(context.lowered(input));
  for (uint32_t i = 0; i < context.result_count(); ++i)
    context.values().define_dynamic(context.result(i), input);
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::quantized_decomposed::choose_qparams_tensor, lower_choose_qparams>(
        {.dtypes = kFloat32Only,
         .constraint = "All that reads it ends in linear layers with constant int8 weights.",
         .traits = kStartsChain}),
    op_row<ops::quantized_decomposed::quantize_per_tensor_tensor, lower_conversion>(
        {.dtypes = kFloat32Only,
         .constraint = "As part of a dynamically quantised linear layer.",
         .traits = kInChain}),
    op_row<ops::quantized_decomposed::dequantize_per_tensor_tensor, lower_conversion>(
        {.dtypes = kInt8Only,
         .constraint = "As part of a dynamically quantised linear layer.",
         .traits = kFolds | kInChain}),
};

}  // namespace

extern const OpList dynamic_quantise_ops = kRows;

}  // namespace etb::xnnpack
