// SPDX-License-Identifier: Apache-2.0
// For tests: networks of codes.
#pragma once

#include "plugins/dsp_stub/testing/dsp_fixture.hpp"

namespace etb::dsp_stub {

inline std::vector<int8_t> codes_of(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int8_t> out(count);
  for (int8_t& code : out) code = static_cast<int8_t>(random() % 255 - 127);
  return out;
}

// Constants come first in an image, so nets are written from a list of them: two convolutions, a shortcut, a mean, a
// linear layer. int16 codes have finer scales and no zero points; weights are int8.
inline CodesModel small_net(int64_t batch, int64_t size, int64_t channels, etb_dtype dtype = ETB_DTYPE_INT8) {
  const bool is_wide = dtype == ETB_DTYPE_INT16;
  CodesModel model;
  const Sizes image = {batch, channels, size, size};
  const uint32_t x = model.input({batch, 3, size, size}, dtype);
  const size_t c = static_cast<size_t>(channels);
  const uint32_t w1 = model.constant(ETB_DTYPE_INT8, {channels, 3, 3, 3}, codes_of(c * 27, 1));
  const uint32_t b1 = model.constant(ETB_DTYPE_FLOAT32, {channels}, std::vector<float>(c, 0.25f));
  const uint32_t w2 = model.constant(ETB_DTYPE_INT8, {channels, 1, 3, 3}, codes_of(c * 9, 2));
  const uint32_t b2 = model.constant(ETB_DTYPE_FLOAT32, {channels}, std::vector<float>(c, -0.5f));
  const uint32_t w3 = model.constant(ETB_DTYPE_INT8, {5, channels}, codes_of(5 * c, 3));
  const auto dequantize = [&](uint32_t from, const Sizes& sizes, double scale, int64_t zero) {
    return model.dequantize(from, sizes, is_wide ? scale / 256 : scale, is_wide ? 0 : zero, dtype);
  };
  const auto quantize = [&](uint32_t from, const Sizes& sizes, double scale, int64_t zero) {
    return model.quantize(from, sizes, is_wide ? scale / 256 : scale, is_wide ? 0 : zero, dtype);
  };
  const auto conv = [&](uint32_t from, double scale, int64_t zero, const Sizes& sizes, uint32_t weight,
                        const Sizes& weight_sizes, uint32_t bias, int64_t groups) {
    const uint32_t real = dequantize(from, sizes, scale, zero),
                   w = model.dequantize(weight, weight_sizes, 0x1p-8, 0);
    return model.node("aten.convolution.default",
                      {arg(real, "input"), arg(w, "weight"), arg(bias, "bias"),
                       graph::ints_arg({1, 1}, "stride"), graph::ints_arg({1, 1}, "padding"),
                       graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                       graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(groups, "groups")},
                      image);
  };
  uint32_t y = conv(x, 0x1p-5, 3, {batch, 3, size, size}, w1, {channels, 3, 3, 3}, b1, 1);
  y = model.node("aten.relu.default", {arg(y, "self")}, image);
  const uint32_t first = quantize(y, image, 0.043, -128);
  y = conv(first, 0.043, -128, image, w2, {channels, 1, 3, 3}, b2, channels);
  const uint32_t second = quantize(y, image, 0.037, 5);
  y = model.node(
      "aten.add.Tensor",
      {arg(dequantize(first, image, 0.043, -128), "self"), arg(dequantize(second, image, 0.037, 5), "other")},
      image);
  const uint32_t sum = quantize(y, image, 0.05, -20);
  y = model.node("aten.mean.dim",
                 {arg(dequantize(sum, image, 0.05, -20), "self"), graph::ints_arg({2, 3}, "dim"),
                  graph::bool_arg(false, "keepdim")},
                 {batch, channels});
  const uint32_t mean = quantize(y, {batch, channels}, 0.031, -50);
  y = model.node("aten.linear.default",
                 {arg(dequantize(mean, {batch, channels}, 0.031, -50), "input"),
                  arg(model.dequantize(w3, {5, channels}, 0x1p-7, 0), "weight"), graph::none_arg("bias")},
                 {batch, 5});
  model.output(quantize(y, {batch, 5}, 0.11, 1));
  return model;
}

}  // namespace etb::dsp_stub
