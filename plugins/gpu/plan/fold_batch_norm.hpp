// SPDX-License-Identifier: Apache-2.0
// Batch norms with constant statistics after convolutions: at load, they become part of the filters and of the bias.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/gpu/graph/graph.hpp"

namespace etb::gpu {

// The constants of a batch norm and of the convolution before it.
struct BatchNormFold {
  uint32_t weight = kNoValue, bias = kNoValue, mean = kNoValue, variance = kNoValue;
  float eps = 0;
  uint32_t convolution_bias = kNoValue;              // kNoValue: none
  uint32_t filters = kNoValue, new_bias = kNoValue;  // values that the graph reads afterwards
};

// Removes each batch norm whose only input is a convolution that nothing else reads, and a clamp after it. The convolution
// reads new values instead, which fold_filters() and fold_bias() fill.
std::vector<BatchNormFold> fold_batch_norms(GpuGraph& graph);

// The numbers of a batch norm, one for each channel.
struct BatchNormNumbers {
  std::span<const float> weight, bias, mean, variance;
  float eps = 0;
};
// Multiplies the filters of each channel, in the order of the program.
void fold_filters(const BatchNormNumbers& numbers, std::span<float> filters);
// Replaces a bias, or zeros.
void fold_bias(const BatchNormNumbers& numbers, std::span<float> bias);

}  // namespace etb::gpu
