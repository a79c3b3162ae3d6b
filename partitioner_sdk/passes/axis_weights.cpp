// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/axis_weights.hpp"

#include <algorithm>
#include <cmath>

namespace etb::passes {

namespace {

// Rounds a weight to the dtype that PyTorch computes weights in.
double rounded(const Axis& axis, double weight) {
  return axis.is_double ? weight : static_cast<double>(static_cast<float>(weight));
}

double linear_filter(double x) { return std::max(0.0, 1.0 - std::abs(x)); }

// Keys' cubic kernel; PyTorch uses -0.75 for `a`, and -0.5 with antialiasing.
double cubic_filter(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

}  // namespace

void set_step(const Call& a, Axis& axis, double scale) {
  constexpr int64_t kMaxSize = 1 << 13;  // a matrix of 256 MiB
  if (axis.in <= 0 || axis.out <= 0 || axis.in > kMaxSize || axis.out > kMaxSize) {
    a.fail("cannot resample an axis of " + std::to_string(axis.in) + " elements to " +
           std::to_string(axis.out) + ", expected 1 to " + std::to_string(kMaxSize) + " each");
  } else if (scale > 0 && !(scale >= 1.0 / kMaxSize && scale <= kMaxSize)) {
    a.fail("cannot resample by a factor of " + std::to_string(scale) + ", expected at most " +
           std::to_string(kMaxSize));
  } else if (axis.aligns_corners) {
    axis.step = axis.out > 1 ? static_cast<double>(axis.in - 1) / static_cast<double>(axis.out - 1) : 0;
  } else {
    axis.step = scale > 0 ? 1.0 / scale : static_cast<double>(axis.in) / static_cast<double>(axis.out);
  }
}

std::vector<double> linear_weights(const Axis& axis) {
  std::vector<double> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double at = axis.aligns_corners ? static_cast<double>(o) * axis.step
                                          : std::max(0.0, (static_cast<double>(o) + 0.5) * axis.step - 0.5);
    const int64_t first = std::min(static_cast<int64_t>(at), axis.in - 1);
    const double rest = rounded(axis, at - static_cast<double>(first));
    weights[static_cast<size_t>(first * axis.out + o)] += rounded(axis, 1 - rest);
    weights[static_cast<size_t>(std::min(first + 1, axis.in - 1) * axis.out + o)] += rest;
  }
  return weights;
}

std::vector<double> cubic_weights(const Axis& axis) {
  constexpr double kA = -0.75;
  std::vector<double> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double at = axis.aligns_corners ? static_cast<double>(o) * axis.step
                                          : (static_cast<double>(o) + 0.5) * axis.step - 0.5;
    const double whole = std::floor(at);
    for (int64_t tap = -1; tap <= 2; ++tap) {
      const int64_t i = std::clamp<int64_t>(static_cast<int64_t>(whole) + tap, 0, axis.in - 1);
      weights[static_cast<size_t>(i * axis.out + o)] +=
          rounded(axis, cubic_filter(at - whole - static_cast<double>(tap), kA));
    }
  }
  return weights;
}

std::vector<double> smoothing_weights(const Axis& axis, Filter filter) {
  const auto value = [&](double x) {
    return filter == Filter::kLinear ? linear_filter(x) : cubic_filter(x, -0.5);
  };
  const double width = std::max(axis.step, 1.0), radius = (filter == Filter::kLinear ? 1.0 : 2.0) * width;
  std::vector<double> weights(static_cast<size_t>(axis.in * axis.out));
  for (int64_t o = 0; o < axis.out; ++o) {
    const double center = axis.step * (static_cast<double>(o) + 0.5);
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - radius + 0.5), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(center + radius + 0.5), axis.in);
    double sum = 0;
    for (int64_t i = first; i < last; ++i) sum += value((static_cast<double>(i) - center + 0.5) / width);
    for (int64_t i = first; i < last; ++i) {
      const double weight = value((static_cast<double>(i) - center + 0.5) / width);
      weights[static_cast<size_t>(i * axis.out + o)] = weight / sum;
    }
  }
  return weights;
}

std::vector<int64_t> nearest_elements(const Axis& axis, bool is_exact) {
  std::vector<int64_t> nearest(static_cast<size_t>(axis.out));
  for (size_t o = 0; o < nearest.size(); ++o) {
    const double at = is_exact ? (static_cast<double>(o) + 0.5) * static_cast<float>(axis.step)
                               : static_cast<double>(o) * axis.step;
    nearest[o] = std::min(static_cast<int64_t>(at), axis.in - 1);
  }
  return nearest;
}

ValueId resampled(Builder& b, ValueId x, const Axis& axis, const std::vector<double>& weights) {
  const std::vector<float> floats(weights.begin(), weights.end());
  const ValueId matrix = axis.is_double ? add_elements(b, Dtype::FLOAT64, {axis.in, axis.out}, weights)
                                        : add_elements(b, Dtype::FLOAT32, {axis.in, axis.out}, floats);
  return matmul(b, x, to_dtype(b, matrix, b.spec(x).dtype));
}

}  // namespace etb::passes
