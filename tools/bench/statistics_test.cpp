// SPDX-License-Identifier: Apache-2.0
// Tests statistics against values from elsewhere, and the intervals of paired ratios on drawn data.
#include "tools/bench/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tools/bench/paired_ratio.hpp"

namespace etb::bench {
namespace {

TEST(Statistics, InterpolatesPercentilesAsNumPyDoes) {
  // numpy.percentile([15, 20, 35, 40, 50], [0, 5, 30, 40, 50, 99, 100])
  const std::vector<double> percents = {0, 5, 30, 40, 50, 99, 100};
  const Summary found = summarise({50, 15, 40, 20, 35}, percents);
  const std::vector<double> expected = {15, 16, 23, 29, 35, 49.6, 50};
  ASSERT_EQ(found.percentiles.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.percentiles[i], expected[i], 1e-12);
}

TEST(Statistics, SummarisesKnownValues) {
  const Summary found = summarise({2, 4, 4, 4, 5, 5, 7, 9}, {});
  EXPECT_EQ(found.count, 8u);
  EXPECT_DOUBLE_EQ(found.mean, 5);
  EXPECT_NEAR(found.sd, std::sqrt(32.0 / 7), 1e-12);
  EXPECT_NEAR(found.variation, std::sqrt(32.0 / 7) / 5, 1e-12);
  EXPECT_DOUBLE_EQ(found.median, 4.5);
  EXPECT_DOUBLE_EQ(found.min, 2);
  EXPECT_DOUBLE_EQ(found.max, 9);
}

TEST(Statistics, HandlesNoneAndOne) {
  const std::vector<double> percents = {50, 99};
  const Summary none = summarise({}, percents);
  EXPECT_EQ(none.count, 0u);
  EXPECT_EQ(none.percentiles, (std::vector<double>{0, 0}));
  const Summary one = summarise({3}, percents);
  EXPECT_DOUBLE_EQ(one.sd, 0);
  EXPECT_EQ(one.percentiles, (std::vector<double>{3, 3}));
}

TEST(PairedRatio, DividesSharedNoiseOut) {
  // The machine becomes ten times slower; the ratio of each pair stays.
  std::vector<double> times, baseline;
  for (int i = 0; i < 10; ++i) {
    const double load = i < 5 ? 1 : 10;
    baseline.push_back(load * 100);
    times.push_back(load * 80);
  }
  const PairedRatio found = compare(times, baseline, 1);
  EXPECT_EQ(found.pair_count, 10u);
  EXPECT_NEAR(found.ratio, 0.8, 1e-12);
  EXPECT_NEAR(found.low, 0.8, 1e-12);
  EXPECT_NEAR(found.high, 0.8, 1e-12);
  EXPECT_EQ(found.verdict, Verdict::kFaster);
  EXPECT_EQ(compare(baseline, times, 1).verdict, Verdict::kSlower);
}

TEST(PairedRatio, OneOutlierDoesNotDecide) {
  const std::vector<double> baseline(9, 100);
  const std::vector<double> times = {99, 101, 100, 5000, 98, 102, 100, 101, 99};
  const PairedRatio found = compare(times, baseline, 1);
  EXPECT_NEAR(found.ratio, 1, 0.02);
  EXPECT_EQ(found.verdict, Verdict::kNoDifference);
}

TEST(PairedRatio, NeedsSixPairs) {
  const std::vector<double> five(5, 50), six(6, 50), baseline(6, 100);
  EXPECT_EQ(compare(five, baseline, 1).verdict, Verdict::kTooFewPairs);
  EXPECT_EQ(compare(six, baseline, 1).verdict, Verdict::kFaster);
  EXPECT_EQ(compare({}, baseline, 1).verdict, Verdict::kTooFewPairs);
}

TEST(PairedRatio, IsTheSameForTheSameSeed) {
  std::mt19937_64 generator(5);
  std::lognormal_distribution<double> noise(0, 0.2);
  std::vector<double> times(20), baseline(20);
  for (size_t i = 0; i < times.size(); ++i) {
    times[i] = noise(generator);
    baseline[i] = noise(generator);
  }
  const PairedRatio first = compare(times, baseline, 7), second = compare(times, baseline, 7);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(PairedRatio, FailsOnlyIfTheWholeIntervalIsSlower) {
  std::vector<double> times, baseline(20, 100);
  for (int i = 0; i < 20; ++i) times.push_back(106 + i % 5);  // 6 to 10 % slower
  const PairedRatio found = compare(times, baseline, 1);
  EXPECT_TRUE(found.is_slower_by(5));
  EXPECT_FALSE(found.is_slower_by(10));
}

// Intervals of drawn pairs with a known ratio contain it in about 95 % of the cases. Every tenth turn is an
// outlier, as on a busy machine.
TEST(PairedRatio, IntervalsContainTheTrueRatioAsOftenAsStated) {
  constexpr int kTrials = 600;
  constexpr double kTrueRatio = 1.1;
  for (const size_t pairs : {size_t{12}, size_t{20}, size_t{40}}) {
    std::mt19937_64 generator(1234 + pairs);
    std::lognormal_distribution<double> noise(0, 0.05);
    std::bernoulli_distribution is_outlier(0.1);
    int contained = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> times(pairs), baseline(pairs);
      for (size_t i = 0; i < pairs; ++i) {
        times[i] = kTrueRatio * noise(generator) * (is_outlier(generator) ? 3 : 1);
        baseline[i] = noise(generator) * (is_outlier(generator) ? 3 : 1);
      }
      const PairedRatio found = compare(times, baseline, static_cast<uint64_t>(trial), 1000);
      contained += found.low <= kTrueRatio && kTrueRatio <= found.high ? 1 : 0;
    }
    const double coverage = static_cast<double>(contained) / kTrials;
    EXPECT_GT(coverage, 0.91) << pairs << " pairs";
    EXPECT_LT(coverage, 0.99) << pairs << " pairs";
  }
}

}  // namespace
}  // namespace etb::bench
