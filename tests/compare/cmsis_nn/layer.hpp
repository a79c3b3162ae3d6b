// SPDX-License-Identifier: Apache-2.0
// A random int8 layer with sums, and the two sides that compute it everywhere: CMSIS-NN, and the portable kernels of the cortex_m
// operators. No heap, so that it also runs as firmware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace compare {

enum class Kind { kConvolution, kDepthwise, kLinear };

// Images are [rows, columns, channels]. Weights are [outputs, rows, columns, inputs of a group] for convolutions, [rows, columns,
// outputs] for depthwise ones, [outputs, inputs] for linear layers, where in_c is the number of inputs.
struct Layer {
  Kind kind = Kind::kConvolution;
  int32_t batch = 1, in_h = 1, in_w = 1, in_c = 1, out_c = 1, groups = 1;
  int32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0,
          dilation_h = 1, dilation_w = 1;
  int32_t input_offset = 0, output_offset = 0, low = -128, high = 127;
  bool is_per_channel = true;
  const char* name = "";

  int32_t out_h() const { return (in_h + 2 * padding_h - (kernel_h - 1) * dilation_h - 1) / stride_h + 1; }
  int32_t out_w() const { return (in_w + 2 * padding_w - (kernel_w - 1) * dilation_w - 1) / stride_w + 1; }
  int32_t group_in() const { return kind == Kind::kDepthwise ? 1 : in_c / groups; }
  size_t input_count() const { return static_cast<size_t>(batch) * in_h * in_w * in_c; }
  size_t weight_count() const { return static_cast<size_t>(out_c) * kernel_h * kernel_w * group_in(); }
  size_t output_count() const { return static_cast<size_t>(batch) * out_h() * out_w() * out_c; }
};

// Memory of a layer; the caller owns it. There is an entry of bias, multipliers, shifts and sums for each output channel.
struct Buffers {
  int8_t *input, *weights, *output;
  int32_t *bias, *multipliers, *shifts;
  int32_t* kernel_sums;  // for linear layers
  std::span<std::byte> scratch;
};

// xorshift: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint32_t seed) : state_(seed * 2654435761u + 88172645u) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    return state_ ^= state_ << 5;
  }
  int32_t between(int32_t low, int32_t high) {
    const uint32_t count = static_cast<uint32_t>(high) - static_cast<uint32_t>(low) + 1;
    return static_cast<int32_t>(static_cast<uint32_t>(low) + (count == 0 ? next() : next() % count));
  }

 private:
  uint32_t state_;
};

Layer draw_layer(Random& random, Kind kind);

// Draws data, and factors that spread most results over the range of codes.
void fill(Random& random, const Layer& layer, const Buffers& to);

// Writes to.output; false if CMSIS-NN refuses the layer.
bool run_cmsis(const Layer& layer, const Buffers& to);
// The same by portable kernels. A program prepares the arguments when it is loaded. Images are in the order of CMSIS-NN (channels
// last), or with channels first: the caller has moved the input and moves the output.
void prepare_kernels(const Layer& layer, const Buffers& to, bool is_channels_last = true);
bool run_kernels();
// Writes the sums of weights times input offset, plus bias, that a compiler computes for linear layers.
void fill_kernel_sums(const Layer& layer, const Buffers& to);

}  // namespace compare
