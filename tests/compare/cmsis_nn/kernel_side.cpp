// SPDX-License-Identifier: Apache-2.0
#include "kernel_side.hpp"

#include "layer.hpp"

namespace compare {

using etb::host::Dtype;

const etb::host::KernelRegistry& registry() {
  static etb::host::KernelRegistry kernels;
  static bool is_filled = false;
  if (!is_filled) is_filled = etb::host::add_portable_kernels(kernels) == ETB_OK;
  return kernels;
}

namespace {

bool convolve(const Layer& layer, const Buffers& to, bool is_channels_last) {
  static KernelCall call({});
  call = KernelCall(to.scratch);
  const uint8_t* order = is_channels_last ? kChannelsLast : kRowMajor;
  const bool is_depthwise = layer.kind == Kind::kDepthwise;
  const auto channel_bytes = static_cast<uint64_t>(layer.out_c) * 4;
  call.add(Dtype::INT8, {layer.batch, layer.in_c, layer.in_h, layer.in_w}, to.input, layer.input_count(), order);
  if (is_depthwise)
    call.add(Dtype::INT8, {1, layer.kernel_h, layer.kernel_w, layer.out_c}, to.weights, layer.weight_count());
  else
    call.add(Dtype::INT8, {layer.out_c, layer.kernel_h, layer.kernel_w, layer.group_in()}, to.weights,
             layer.weight_count());
  call.add(Dtype::INT32, {layer.out_c}, to.bias, channel_bytes);
  std::array<etb::host::EValue*, 2> items[3];
  const int32_t pairs[3][2] = {{layer.stride_h, layer.stride_w},
                               {layer.padding_h, layer.padding_w},
                               {layer.dilation_h, layer.dilation_w}};
  for (int i = 0; i < 3; ++i) call.add_list(pairs[i], 2, items[i]);
  if (is_depthwise) call.add(layer.out_c / layer.in_c);
  call.add(layer.input_offset);
  call.add(layer.output_offset);
  call.add(Dtype::INT32, {layer.out_c}, to.multipliers, channel_bytes);
  call.add(Dtype::INT32, {layer.out_c}, to.shifts, channel_bytes);
  call.add(layer.low);
  call.add(layer.high);
  call.add(Dtype::UINT8, {0}, nullptr, 0);
  call.add(Dtype::INT8, {layer.batch, layer.out_c, layer.out_h(), layer.out_w()}, to.output, layer.output_count(),
           order);
  // A program finds its kernels when it is loaded.
  static const etb::host::Kernel* kernels[2] = {registry().find("cortex_m::quantized_conv2d", "out"),
                                                registry().find("cortex_m::quantized_depthwise_conv2d", "out")};
  return call.run(registry(), kernels[is_depthwise ? 1 : 0]);
}

bool multiply(const Layer& layer, const Buffers& to) {
  static KernelCall call({});
  call = KernelCall(to.scratch);
  static std::array<etb::host::EValue*, 256> multipliers, shifts;
  const size_t factors = layer.is_per_channel ? static_cast<size_t>(layer.out_c) : 1;
  call.add(Dtype::INT8, {layer.batch, layer.in_c}, to.input, layer.input_count());
  call.add(Dtype::INT8, {layer.out_c, layer.in_c}, to.weights, layer.weight_count());
  call.add_nothing();
  call.add(Dtype::INT32, {layer.out_c}, to.kernel_sums, static_cast<uint64_t>(layer.out_c) * 4);
  call.add(layer.input_offset);
  call.add(0);
  call.add(layer.output_offset);
  call.add_list(to.multipliers, factors, multipliers);
  call.add_list(to.shifts, factors, shifts);
  call.add(layer.high);
  call.add(layer.low);
  call.add(Dtype::INT8, {layer.batch, layer.out_c}, to.output, layer.output_count());
  static const etb::host::Kernel* kernel = registry().find("cortex_m::quantized_linear", "out");
  return call.run(registry(), kernel);
}

}  // namespace

bool run_kernels(const Layer& layer, const Buffers& to, bool is_channels_last) {
  return layer.kind == Kind::kLinear ? multiply(layer, to) : convolve(layer, to, is_channels_last);
}

}  // namespace compare
