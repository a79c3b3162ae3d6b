// SPDX-License-Identifier: Apache-2.0
#include "layer.hpp"

#include <cmath>

namespace compare {

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
