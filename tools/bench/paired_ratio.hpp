// SPDX-License-Identifier: Apache-2.0
// PairedRatio: how much longer one variant takes than another, from turns that were measured side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace etb::bench {

enum class Verdict : uint8_t { kFaster, kSlower, kNoDifference, kTooFewPairs };
const char* to_text(Verdict verdict);

struct PairedRatio {
  uint64_t pair_count = 0;
  double ratio = 0;  // median of the pairs' time / time of the baseline; below 1 is faster
  double low = 0;    // interval with 95 % confidence
  double high = 0;
  Verdict verdict = Verdict::kTooFewPairs;

  // True if the interval as a whole is above 1 + percent / 100.
  bool is_slower_by(double percent) const;
};

// With fewer pairs, all of them are on one side of 1 by chance in more than 5 % of the cases.
constexpr uint64_t kFewestPairs = 6;
constexpr uint32_t kResamples = 10000;

// `times` and `baseline` hold one time for each turn, in the same order; pairs are formed by index up to the
// shorter one. The ratio is the median of the ratios of the pairs. Its interval is the percentile bootstrap:
// the 2.5 % and 97.5 % quantiles of the medians of `resamples` samples of the pairs with replacement, drawn
// by a generator with this seed. Noise that both turns of a pair share divides out.
PairedRatio compare(std::span<const double> times, std::span<const double> baseline, uint64_t seed,
                    uint32_t resamples = kResamples);

}  // namespace etb::bench
