// SPDX-License-Identifier: Apache-2.0
// Firmware: ticks of layers, of CMSIS-NN and of the portable kernels, which must agree in every code.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "board.h"
#include "layer.hpp"

namespace {

using namespace compare;

constexpr int32_t kMostChannels = 256;
int8_t input[40 * 1024], weights[40 * 1024], output[40 * 1024], expected[40 * 1024], moved[40 * 1024];
int32_t bias[kMostChannels], multipliers[kMostChannels], shifts[kMostChannels], kernel_sums[kMostChannels];
alignas(16) std::byte scratch[32 * 1024];

Layer convolution(const char* name, int32_t h, int32_t w, int32_t in_c, int32_t out_c, int32_t kernel_h,
                  int32_t kernel_w, int32_t stride, int32_t padding_h, int32_t padding_w) {
  Layer layer;
  layer.name = name;
  layer.in_h = h, layer.in_w = w, layer.in_c = in_c, layer.out_c = out_c;
  layer.kernel_h = kernel_h, layer.kernel_w = kernel_w, layer.stride_h = layer.stride_w = stride;
  layer.padding_h = padding_h, layer.padding_w = padding_w;
  layer.input_offset = 5, layer.output_offset = -3;
  return layer;
}

// [rows, columns, channels] to [channels, rows, columns], or back.
void move_channels(const int8_t* from, int8_t* to, int32_t pixels, int32_t channels, bool is_back) {
  for (int32_t p = 0; p < pixels; ++p)
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t last = p * channels + c, first = c * pixels + p;
      to[is_back ? last : first] = from[is_back ? first : last];
    }
}

template <class Run>
unsigned long ticks_of(Run run, bool& is_done) {
  const uint64_t begin = board_ticks();
  is_done = run() && is_done;
  return static_cast<unsigned long>(board_ticks() - begin);
}

void measure(const Layer& layer) {
  Buffers to = {input, weights, output, bias, multipliers, shifts, kernel_sums, scratch};
  Random random(1);
  fill(random, layer, to);
  if (layer.kind == Kind::kLinear) fill_kernel_sums(layer, to);
  bool is_done = true;
  const unsigned long theirs = ticks_of([&] { return run_cmsis(layer, to); }, is_done);
  std::copy_n(output, layer.output_count(), expected);
  std::fill_n(output, layer.output_count(), int8_t{0});
  prepare_kernels(layer, to);
  const unsigned long ours = ticks_of(run_kernels, is_done);
  bool is_equal = std::memcmp(output, expected, layer.output_count()) == 0;
  unsigned long first = 0;
  if (layer.kind != Kind::kLinear) {
    move_channels(input, moved, layer.in_h * layer.in_w, layer.in_c, false);
    Buffers channels_first = to;
    channels_first.input = moved;
    prepare_kernels(layer, channels_first, false);
    first = ticks_of(run_kernels, is_done);
    move_channels(output, moved, layer.out_h() * layer.out_w(), layer.out_c, true);
    is_equal = is_equal && std::memcmp(moved, expected, layer.output_count()) == 0;
  }
  char text[160];
  std::snprintf(text, sizeof text, "| %s | %s | %lu | %lu | %lu |%s%s\n", BOARD, layer.name, theirs, ours,
                first, is_done ? "" : " REFUSED", is_equal ? "" : " DIFFERENT");
  board_write(text);
}

}  // namespace

int main() {
  measure(convolution("3x3, 16x16, 16 to 32 channels", 16, 16, 16, 32, 3, 3, 1, 1, 1));
  measure(convolution("DS-CNN: 10x4, 49x10, 1 to 64", 49, 10, 1, 64, 10, 4, 2, 5, 1));
  Layer depthwise = convolution("DS-CNN: depthwise 3x3, 25x5, 64", 25, 5, 64, 64, 3, 3, 1, 1, 1);
  depthwise.kind = Kind::kDepthwise;
  measure(depthwise);
  measure(convolution("DS-CNN: 1x1, 25x5, 64 to 64", 25, 5, 64, 64, 1, 1, 1, 0, 0));
  Layer linear = convolution("linear, 64 to 12", 1, 1, 64, 12, 1, 1, 1, 0, 0);
  linear.kind = Kind::kLinear;
  measure(linear);
  linear = convolution("linear, 512 to 64", 1, 1, 512, 64, 1, 1, 1, 0, 0);
  linear.kind = Kind::kLinear;
  measure(linear);
  return 0;
}
