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

// Returns the call of the prepared layer. It is made at first use: firmware has no static initialisers.
KernelCall& prepared() {
  static KernelCall call({});
  return call;
}
const etb::host::Kernel* kernel = nullptr;
bool is_checked = false;
std::array<etb::host::EValue*, 256> lists[3];

void prepare_convolution(const Layer& layer, const Buffers& to, bool is_channels_last) {
  KernelCall& call = prepared();
  const uint8_t* order = is_channels_last ? kChannelsLast : kRowMajor;
  const bool is_depthwise = layer.kind == Kind::kDepthwise;
  const auto channel_bytes = static_cast<uint64_t>(layer.out_c) * 4;
  call.add(Dtype::INT8, {layer.batch, layer.in_c, layer.in_h, layer.in_w}, to.input, layer.input_count(),
           order);
  if (is_depthwise)
    call.add(Dtype::INT8, {1, layer.kernel_h, layer.kernel_w, layer.out_c}, to.weights, layer.weight_count());
  else
    call.add(Dtype::INT8, {layer.out_c, layer.kernel_h, layer.kernel_w, layer.group_in()}, to.weights,
             layer.weight_count());
  call.add(Dtype::INT32, {layer.out_c}, to.bias, channel_bytes);
  const int32_t pairs[3][2] = {{layer.stride_h, layer.stride_w},
                               {layer.padding_h, layer.padding_w},
                               {layer.dilation_h, layer.dilation_w}};
  for (int i = 0; i < 3; ++i) call.add_list(pairs[i], 2, lists[i]);
  if (is_depthwise) call.add(layer.out_c / layer.in_c);
  call.add(layer.input_offset);
  call.add(layer.output_offset);
  call.add(Dtype::INT32, {layer.out_c}, to.multipliers, channel_bytes);
  call.add(Dtype::INT32, {layer.out_c}, to.shifts, channel_bytes);
  call.add(layer.low);
  call.add(layer.high);
  call.add(Dtype::UINT8, {0}, nullptr, 0);
  call.add(Dtype::INT8, {layer.batch, layer.out_c, layer.out_h(), layer.out_w()}, to.output,
           layer.output_count(), order);
  kernel = registry().find(
      is_depthwise ? "cortex_m::quantized_depthwise_conv2d" : "cortex_m::quantized_conv2d", "out");
}

void prepare_linear(const Layer& layer, const Buffers& to) {
  KernelCall& call = prepared();
  const size_t factors = layer.is_per_channel ? static_cast<size_t>(layer.out_c) : 1;
  call.add(Dtype::INT8, {layer.batch, layer.in_c}, to.input, layer.input_count());
  call.add(Dtype::INT8, {layer.out_c, layer.in_c}, to.weights, layer.weight_count());
  call.add_nothing();
  call.add(Dtype::INT32, {layer.out_c}, to.kernel_sums, static_cast<uint64_t>(layer.out_c) * 4);
  call.add(layer.input_offset);
  call.add(0);
  call.add(layer.output_offset);
  call.add_list(to.multipliers, factors, lists[0]);
  call.add_list(to.shifts, factors, lists[1]);
  call.add(layer.high);
  call.add(layer.low);
  call.add(Dtype::INT8, {layer.batch, layer.out_c}, to.output, layer.output_count());
  kernel = registry().find("cortex_m::quantized_linear", "out");
}

}  // namespace

void prepare_kernels(const Layer& layer, const Buffers& to, bool is_channels_last) {
  prepared() = KernelCall(to.scratch);
  if (layer.kind == Kind::kLinear)
    prepare_linear(layer, to);
  else
    prepare_convolution(layer, to, is_channels_last);
  is_checked = prepared().check(registry(), kernel);
}

bool run_kernels() { return is_checked && prepared().run_checked(registry(), kernel); }

}  // namespace compare
