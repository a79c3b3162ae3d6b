// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace etb::bench {

double quantile(std::span<const double> sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double at = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarise(std::vector<double> samples, std::span<const double> percents) {
  Summary out;
  out.count = samples.size();
  if (samples.empty()) {
    out.percentiles.resize(percents.size());
    return out;
  }
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  out.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - out.mean) * (sample - out.mean);
  if (samples.size() > 1) out.sd = std::sqrt(squares / (count - 1));
  if (out.mean > 0) out.variation = out.sd / out.mean;
  out.min = samples.front();
  out.max = samples.back();
  out.median = quantile(samples, 0.5);
  for (const double percent : percents) out.percentiles.push_back(quantile(samples, percent / 100));
  return out;
}

}  // namespace etb::bench
