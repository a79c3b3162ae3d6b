// SPDX-License-Identifier: Apache-2.0
// Distances between two tensors: those of ExecuTorch's numeric gap, further ones, and the user's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/tensor_data.hpp"
#include "etb/cpp/result.hpp"

namespace etb::diff {

using conformance::TensorData;

// Elements that are equal, both NaN included, differ by 0. Integers are compared as numbers.
struct Metrics {
  double mse = 0;        // mean of squared differences
  double l1 = 0;         // sum of absolute differences
  double snr = 0;        // 10 * log10(mean of a^2 / mse) in dB; infinite if nothing differs
  double cosine = 1;     // of the angle between both as vectors
  double max_abs = 0;    // largest absolute difference
  double max_rel = 0;    // largest difference, divided by |a|; infinite where only a is 0
  size_t max_index = 0;  // element of max_abs, in memory order
};

// Returns no value for tensors of different sizes. `a` is the signal.
std::optional<Metrics> measure(const TensorData& a, const TensorData& b);

// A distance of the user: a name, and a function of two tensors of equal sizes.
struct Comparator {
  std::string name;
  std::function<Result<double>(const TensorData& a, const TensorData& b)> compare;
};

// Returns "float32 [2, 3]".
std::string describe_shape(const TensorData& tensor);

}  // namespace etb::diff
