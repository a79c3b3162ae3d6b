// SPDX-License-Identifier: Apache-2.0
#include "layer.hpp"

#include <algorithm>
#include <cmath>

namespace compare {

Layer draw_layer(Random& random, Kind kind) {
  Layer layer;
  layer.kind = kind;
  layer.batch = random.between(1, kind == Kind::kLinear ? 6 : 2);
  layer.input_offset = random.between(-127, 128);
  layer.output_offset = random.between(-128, 127);
  if (random.between(0, 1) != 0)
    layer.low = random.between(-128, 0), layer.high = random.between(layer.low, 127);
  layer.is_per_channel = random.between(0, 3) != 0;
  if (kind == Kind::kLinear) {
    layer.in_c = random.between(1, 300), layer.out_c = random.between(1, 60);
    return layer;
  }
  const bool is_depthwise = kind == Kind::kDepthwise;
  layer.groups = is_depthwise ? random.between(1, 40) : random.between(0, 2) == 0 ? random.between(2, 5) : 1;
  layer.in_c = layer.groups * (is_depthwise ? 1 : random.between(1, 24));
  layer.out_c = layer.groups * (is_depthwise ? random.between(1, 8) > 6 ? 3 : 1 : random.between(1, 24));
  const auto draw_dim = [&random](int32_t& in, int32_t& kernel, int32_t& stride, int32_t& padding,
                                  int32_t& dilation) {
    kernel = random.between(1, 5), stride = random.between(1, 3),
    dilation = random.between(0, 2) == 0 ? 2 : 1;
    padding = random.between(0, kernel / 2 * dilation);
    in = std::max<int32_t>((kernel - 1) * dilation + 1 - 2 * padding, 1) + random.between(0, 12);
  };
  draw_dim(layer.in_h, layer.kernel_h, layer.stride_h, layer.padding_h, layer.dilation_h);
  draw_dim(layer.in_w, layer.kernel_w, layer.stride_w, layer.padding_w, layer.dilation_w);
  return layer;
}

void fill(Random& random, const Layer& layer, const Buffers& to) {
  for (size_t i = 0; i < layer.input_count(); ++i)
    to.input[i] = static_cast<int8_t>(random.between(-128, 127));
  // The device and TOSA accept -128; quantisers leave it out of weights.
  for (size_t i = 0; i < layer.weight_count(); ++i)
    to.weights[i] = static_cast<int8_t>(random.between(-127, 127));
  // A sum of n products of codes has a deviation of about 74 * 74 * sqrt(n); codes should have one of about 70.
  const double products = static_cast<double>(layer.weight_count()) / layer.out_c;
  const int32_t usual =
      static_cast<int32_t>(std::floor(std::log2(70 / (74.0 * 74.0 * std::sqrt(products))))) + 1;
  for (int32_t i = 0; i < layer.out_c; ++i) {
    const bool is_own = layer.is_per_channel || i == 0;
    to.bias[i] = random.between(-20000, 20000);
    to.multipliers[i] = is_own ? random.between(1 << 30, INT32_MAX) : to.multipliers[0];
    to.shifts[i] = is_own ? usual + random.between(-1, 1) : to.shifts[0];
  }
}

void fill_kernel_sums(const Layer& layer, const Buffers& to) {
  for (int32_t o = 0; o < layer.out_c; ++o) {
    int32_t sum = 0;
    for (int32_t i = 0; i < layer.in_c; ++i) sum += to.weights[o * layer.in_c + i];
    to.kernel_sums[o] = sum * layer.input_offset + to.bias[o];
  }
}

}  // namespace compare
