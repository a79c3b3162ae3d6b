// SPDX-License-Identifier: Apache-2.0
// Linear maps along one axis whose weights are known at compile time, as a matrix: resampling, and the gradients of
// resampling, of means over windows, and of padding.
#pragma once

#include <vector>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

enum class Filter { kLinear, kCubic };

// The resampling of one axis.
struct Axis {
  int64_t in = 0, out = 0;
  double step = 0;  // input elements per output element
  bool aligns_corners = false;
  bool is_double = false;  // PyTorch computes positions in float32 for all other dtypes
};

// Sets the step from the sizes and from the scale, 0 for none. Fails for sizes without elements, or whose matrix
// would be too large.
void set_step(const Call& a, Axis& axis, double scale);

// Column o holds the weight of each input element in output element o: [in, out].
std::vector<double> linear_weights(const Axis& axis);
std::vector<double> cubic_weights(const Axis& axis);
// The same with a filter as wide as the step, so that a smaller result averages its input.
std::vector<double> smoothing_weights(const Axis& axis, Filter filter);
// The input element of each output element: that at its corner, or "exact" at its centre.
std::vector<int64_t> nearest_elements(const Axis& axis, bool is_exact);

// Multiplies the last axis by a matrix [in, out].
ValueId resampled(Builder& b, ValueId x, const Axis& axis, const std::vector<double>& weights);

}  // namespace etb::passes
