// SPDX-License-Identifier: Apache-2.0
// Firmware: ticks of layers, of CMSIS-NN and of the portable kernels, which must agree in every code, also for random layers.
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

// [images, rows, columns, channels] to [images, channels, rows, columns], or back.
void move_channels(const int8_t* from, int8_t* to, int32_t images, int32_t pixels, int32_t channels,
                   bool is_back) {
  for (; images > 0; --images, from += pixels * channels, to += pixels * channels)
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

struct Outcome {
  unsigned long theirs, ours, first;  // ticks; first: ours with channels first
  bool is_done, is_equal;
};

// Runs a layer with random data on both sides.
Outcome run_layer(Random& random, const Layer& layer) {
  Buffers to = {input, weights, output, bias, multipliers, shifts, kernel_sums, scratch};
  fill(random, layer, to);
  if (layer.kind == Kind::kLinear) fill_kernel_sums(layer, to);
  Outcome outcome = {0, 0, 0, true, true};
  outcome.theirs = ticks_of([&] { return run_cmsis(layer, to); }, outcome.is_done);
  std::copy_n(output, layer.output_count(), expected);
  std::fill_n(output, layer.output_count(), int8_t{0});
  prepare_kernels(layer, to);
  outcome.ours = ticks_of(run_kernels, outcome.is_done);
  outcome.is_equal = std::memcmp(output, expected, layer.output_count()) == 0;
  if (layer.kind == Kind::kLinear) return outcome;
  move_channels(input, moved, layer.batch, layer.in_h * layer.in_w, layer.in_c, false);
  Buffers channels_first = to;
  channels_first.input = moved;
  prepare_kernels(layer, channels_first, false);
  outcome.first = ticks_of(run_kernels, outcome.is_done);
  move_channels(output, moved, layer.batch, layer.out_h() * layer.out_w(), layer.out_c, true);
  outcome.is_equal = outcome.is_equal && std::memcmp(moved, expected, layer.output_count()) == 0;
  return outcome;
}

void measure(const Layer& layer) {
  Random random(1);
  const Outcome outcome = run_layer(random, layer);
  char text[160];
  std::snprintf(text, sizeof text, "| %s | %s | %lu | %lu | %lu |%s%s\n", BOARD, layer.name, outcome.theirs,
                outcome.ours, outcome.first, outcome.is_done ? "" : " REFUSED",
                outcome.is_equal ? "" : " DIFFERENT");
  board_write(text);
}

Layer draw_fitting_layer(Random& random, Kind kind) {
  for (;;) {
    const Layer layer = draw_layer(random, kind);
    if (std::max({layer.input_count(), layer.weight_count(), layer.output_count()}) <= sizeof input &&
        layer.out_c <= kMostChannels)
      return layer;
  }
}

// Compares random layers of each kind.
void compare_random_layers(uint32_t seed, int count) {
  Random random(seed);
  char text[160];
  int equal = 0, layers = 0;
  for (const Kind kind : {Kind::kConvolution, Kind::kDepthwise, Kind::kLinear}) {
    for (int i = 0; i < count; ++i, ++layers) {
      const Outcome outcome = run_layer(random, draw_fitting_layer(random, kind));
      if (outcome.is_done && outcome.is_equal) {
        ++equal;
        continue;
      }
      std::snprintf(text, sizeof text, "%s: layer %d of kind %d, seed %lu:%s%s\n", BOARD, i,
                    static_cast<int>(kind), static_cast<unsigned long>(seed),
                    outcome.is_done ? "" : " REFUSED", outcome.is_equal ? "" : " DIFFERENT");
      board_write(text);
    }
  }
  std::snprintf(text, sizeof text, "%s: equal codes in %d of %d random layers, seed %lu\n", BOARD, equal,
                layers, static_cast<unsigned long>(seed));
  board_write(text);
}

// Our kernels refuse a linear layer in which one number of one channel is out of range. CMSIS-NN does not look at them.
void check_refusals() {
  Random random(3);
  int refused = 0, layers = 0;
  for (const int32_t channels : {1, 5, 12, 20, 33}) {
    Layer layer = convolution("", 1, 1, 24, channels, 1, 1, 1, 0, 0);
    layer.kind = Kind::kLinear;
    const Buffers to = {input, weights, output, bias, multipliers, shifts, kernel_sums, scratch};
    fill(random, layer, to);
    fill_kernel_sums(layer, to);
    for (int32_t channel = 0; channel < channels; ++channel)
      for (const int shift : {31, -32, 1 << 30, -(1 << 30), 0}) {
        const int32_t multiplier = multipliers[channel], right = shifts[channel];
        shifts[channel] = shift;
        if (shift == 0) multipliers[channel] = -1;
        prepare_kernels(layer, to);
        refused += run_kernels() ? 0 : 1, ++layers;
        multipliers[channel] = multiplier, shifts[channel] = right;
      }
  }
  char text[160];
  std::snprintf(text, sizeof text, "%s: %d of %d linear layers with a number out of range are refused%s\n",
                BOARD, refused, layers, refused == layers ? "" : " DIFFERENT");
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
  compare_random_layers(2, 300);
  check_refusals();
  return 0;
}
