// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/paired_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/bench/statistics.hpp"

namespace etb::bench {
namespace {

// SplitMix64: the same numbers on every machine and standard library.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed) {}
  // Below `bound`, by multiplication of the upper half; its bias of bound / 2^32 is far below the noise.
  uint64_t below(uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return ((mixed >> 32) * bound) >> 32;
  }

 private:
  uint64_t state_;
};

// Reorders the values.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Verdict judge(const PairedRatio& ratio) {
  if (ratio.pair_count < kFewestPairs) return Verdict::kTooFewPairs;
  if (ratio.high < 1) return Verdict::kFaster;
  if (ratio.low > 1) return Verdict::kSlower;
  return Verdict::kNoDifference;
}

}  // namespace

const char* to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kNoDifference:
      return "no difference";
    case Verdict::kTooFewPairs:
      return "too few pairs";
  }
  return "?";
}

bool PairedRatio::is_slower_by(double percent) const {
  return verdict == Verdict::kSlower && low > 1 + percent / 100;
}

PairedRatio compare(std::span<const double> times, std::span<const double> baseline, uint64_t seed,
                    uint32_t resamples) {
  std::vector<double> logs;
  for (size_t i = 0; i < std::min(times.size(), baseline.size()); ++i)
    if (times[i] > 0 && baseline[i] > 0) logs.push_back(std::log(times[i] / baseline[i]));
  PairedRatio out;
  out.pair_count = logs.size();
  if (logs.empty()) return out;
  std::vector<double> sample = logs;
  out.ratio = std::exp(median_of(sample));
  Generator generator(seed);
  std::vector<double> medians(resamples);
  for (double& median : medians) {
    for (double& value : sample) value = logs[generator.below(logs.size())];
    median = median_of(sample);
  }
  std::sort(medians.begin(), medians.end());
  out.low = std::exp(quantile(medians, 0.025));
  out.high = std::exp(quantile(medians, 0.975));
  out.verdict = judge(out);
  return out;
}

}  // namespace etb::bench
