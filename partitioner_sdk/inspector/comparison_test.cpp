// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etb::inspector {
namespace {

// Expected values are of scipy.stats.mannwhitneyu(a, b, alternative="two-sided"), SciPy 1.17.1.
TEST(Comparison, TheRankTestIsThatOfSciPy) {
  EXPECT_NEAR(rank_test(std::vector<double>{1, 2, 3, 4, 5}, std::vector<double>{6, 7, 8, 9, 10}),
              0.007936507936507936, 1e-12);
  EXPECT_NEAR(rank_test(std::vector<double>{1, 4, 6, 9}, std::vector<double>{2, 3, 5, 7, 8, 11}),
              0.7619047619047619, 1e-12);
  EXPECT_NEAR(rank_test(std::vector<double>{1, 2, 2, 3, 5}, std::vector<double>{2, 4, 4, 6}),
              0.26017490098354834, 1e-12);
  EXPECT_NEAR(rank_test(std::vector<double>{1, 3, 5, 7, 9, 11, 13, 15, 17, 19},
                        std::vector<double>{4, 6, 8, 10, 12, 14, 16, 18, 20, 22}),
              0.3074894566186813, 1e-12);
  EXPECT_EQ(rank_test(std::vector<double>{2, 2, 2}, std::vector<double>{2, 2, 2}), 1);
  EXPECT_EQ(rank_test({}, std::vector<double>{1}), 1);
}

TEST(Comparison, RowsAreFoundByKeyAndJudged) {
  const std::vector<double> fast = {10, 11, 12, 10.5, 11.5, 12.5}, slow = {20, 21, 22, 20.5, 21.5, 22.5};
  const std::vector<TimedRow> before = {{"a", "conv", fast}, {"b", "add", fast}, {"gone", "mul", fast}};
  const std::vector<TimedRow> now = {
      {"b", "add", fast}, {"a", "conv", slow}, {"new", "sub", fast}, {"few", "relu", {1, 2}}};
  std::vector<TimedRow> old = before;
  old.push_back({"few", "relu", {100, 200}});
  const std::vector<ComparedRow> rows = compare_rows(old, now);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].change, Change::kNone);
  EXPECT_EQ(rows[1].change, Change::kSlower);
  EXPECT_DOUBLE_EQ(rows[1].ratio, 21.25 / 11.25);
  // The exact p of 12 samples in order, times the two rows that are tested.
  EXPECT_NEAR(rows[1].p_value, 2.0 / 924 * 2, 1e-12);
  EXPECT_EQ(rows[2].change, Change::kOnlyNow);
  EXPECT_EQ(rows[3].change, Change::kTooFewRuns);
  EXPECT_EQ(rows[4].change, Change::kOnlyBefore);
  EXPECT_EQ(rows[4].name, "mul");
}

}  // namespace
}  // namespace etb::inspector
