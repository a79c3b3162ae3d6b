// SPDX-License-Identifier: Apache-2.0
// Statistics of measured times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace etb::bench {

// Returns the value below which `fraction` of the sorted samples are, interpolated between the two nearest
// (method 7 of Hyndman and Fan, NumPy's default). Returns 0 without samples.
double quantile(std::span<const double> sorted, double fraction);

// All in the unit of the samples, except `variation`.
struct Summary {
  uint64_t count = 0;
  double mean = 0;
  double sd = 0;         // of the sample: divided by count - 1; 0 for one sample
  double variation = 0;  // coefficient of variation: sd / mean
  double min = 0;
  double max = 0;
  double median = 0;
  std::vector<double> percentiles;  // in the order of the request
};

// `percents` are between 0 and 100.
Summary summarise(std::vector<double> samples, std::span<const double> percents);

}  // namespace etb::bench
