// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/times.hpp"

#include <algorithm>
#include <numeric>

namespace etb::inspector {
namespace {

struct ScaleRow {
  TimeScale scale;
  const char* text;
  double per_second;
};
constexpr ScaleRow kScales[] = {{TimeScale::kNs, "ns", 1e9},
                                {TimeScale::kUs, "us", 1e6},
                                {TimeScale::kMs, "ms", 1e3},
                                {TimeScale::kS, "s", 1},
                                {TimeScale::kCycles, "cycles", 1}};

const ScaleRow& row_of(TimeScale scale) { return kScales[static_cast<size_t>(scale)]; }

}  // namespace

const char* to_text(TimeScale scale) { return row_of(scale).text; }

std::optional<TimeScale> find_time_scale(std::string_view text) {
  for (const ScaleRow& row : kScales)
    if (row.text == text) return row.scale;
  return std::nullopt;
}

double scale_factor(TimeScale source, TimeScale target) {
  return row_of(source).per_second / row_of(target).per_second;
}

double quantile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double at = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
}

double mean(std::span<const double> samples) {
  if (samples.empty()) return 0;
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

}  // namespace etb::inspector
