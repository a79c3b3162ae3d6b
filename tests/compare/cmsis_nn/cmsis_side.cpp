// SPDX-License-Identifier: Apache-2.0
#include "arm_nnfunctions.h"
#include "layer.hpp"

namespace compare {
namespace {

struct Call {
  Call(const Layer& layer, const Buffers& to)
      : input{layer.batch, layer.in_h, layer.in_w, layer.in_c},
        filter{layer.out_c, layer.kernel_h, layer.kernel_w, layer.group_in()},
        output{layer.batch, layer.out_h(), layer.out_w(), layer.out_c},
        bias{1, 1, 1, layer.out_c},
        factors{to.multipliers, to.shifts} {}

  cmsis_nn_dims input, filter, output, bias;
  cmsis_nn_per_channel_quant_params factors;
};

bool take(const Buffers& to, int32_t bytes, cmsis_nn_context& context) {
  context = {to.scratch.data(), bytes};
  return static_cast<size_t>(bytes) <= to.scratch.size();
}

bool convolve(const Layer& layer, const Buffers& to) {
  Call call(layer, to);
  const cmsis_nn_conv_params params = {layer.input_offset,
                                       layer.output_offset,
                                       {layer.stride_w, layer.stride_h},
                                       {layer.padding_w, layer.padding_h},
                                       {layer.dilation_w, layer.dilation_h},
                                       {layer.low, layer.high}};
  cmsis_nn_context context;
  return take(to, arm_convolve_wrapper_s8_get_buffer_size(&params, &call.input, &call.filter, &call.output),
              context) &&
         arm_convolve_wrapper_s8(&context, &params, &call.factors, &call.input, to.input, &call.filter,
                                 to.weights, &call.bias, to.bias, &call.output,
                                 to.output) == ARM_CMSIS_NN_SUCCESS;
}

bool convolve_depthwise(const Layer& layer, const Buffers& to) {
  Call call(layer, to);
  call.filter = {1, layer.kernel_h, layer.kernel_w, layer.out_c};
  const cmsis_nn_dw_conv_params params = {layer.input_offset,
                                          layer.output_offset,
                                          layer.out_c / layer.in_c,
                                          {layer.stride_w, layer.stride_h},
                                          {layer.padding_w, layer.padding_h},
                                          {layer.dilation_w, layer.dilation_h},
                                          {layer.low, layer.high}};
  cmsis_nn_context context;
  return take(to,
              arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &call.input, &call.filter, &call.output),
              context) &&
         arm_depthwise_conv_wrapper_s8(&context, &params, &call.factors, &call.input, to.input, &call.filter,
                                       to.weights, &call.bias, to.bias, &call.output,
                                       to.output) == ARM_CMSIS_NN_SUCCESS;
}

bool multiply(const Layer& layer, const Buffers& to) {
  Call call(layer, to);
  call.filter = {layer.in_c, 1, 1, layer.out_c};
  const cmsis_nn_fc_params params = {layer.input_offset, 0, layer.output_offset, {layer.low, layer.high}};
  // Where CMSIS-NN reads them, they contain the bias.
  const cmsis_nn_context context = {to.kernel_sums, 0};
  const cmsis_nn_per_tensor_quant_params one = {to.multipliers[0], to.shifts[0]};
  const arm_cmsis_nn_status status =
      layer.is_per_channel
          ? arm_fully_connected_per_channel_s8(&context, &params, &call.factors, &call.input, to.input,
                                               &call.filter, to.weights, &call.bias, to.bias, &call.output,
                                               to.output)
          : arm_fully_connected_s8(&context, &params, &one, &call.input, to.input, &call.filter, to.weights,
                                   &call.bias, to.bias, &call.output, to.output);
  return status == ARM_CMSIS_NN_SUCCESS;
}

}  // namespace

bool run_cmsis(const Layer& layer, const Buffers& to) {
  switch (layer.kind) {
    case Kind::kConvolution:
      return convolve(layer, to);
    case Kind::kDepthwise:
      return convolve_depthwise(layer, to);
    default:
      return multiply(layer, to);
  }
}

}  // namespace compare
