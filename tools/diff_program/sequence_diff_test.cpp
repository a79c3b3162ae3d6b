// SPDX-License-Identifier: Apache-2.0
#include "tools/diff_program/sequence_diff.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace etb::tools {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

Texts texts(const std::string& letters) {
  Texts out;
  for (const char c : letters) out.emplace_back(1, c);
  return out;
}

// The length of the longest common subsequence, by the table of every textbook.
size_t common_length(const Texts& a, const Texts& b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j)
      best[i][j] = a[i - 1] == b[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
  return best[a.size()][b.size()];
}

// Each item is in the result once, pairs are equal and ascending.
void expect_valid(const Texts& a, const Texts& b, const SequenceDiff& diff) {
  EXPECT_EQ(diff.equal.size() + diff.only_in_a.size(), a.size());
  EXPECT_EQ(diff.equal.size() + diff.only_in_b.size(), b.size());
  std::vector<bool> seen_a(a.size()), seen_b(b.size());
  for (size_t i = 0; i < diff.equal.size(); ++i) {
    const auto [x, y] = diff.equal[i];
    ASSERT_LT(x, a.size());
    ASSERT_LT(y, b.size());
    EXPECT_EQ(a[x], b[y]);
    if (i > 0) {
      EXPECT_TRUE(diff.equal[i - 1].first < x && diff.equal[i - 1].second < y);
    }
    seen_a[x] = seen_b[y] = true;
  }
  for (const size_t x : diff.only_in_a) EXPECT_FALSE(seen_a[x]);
  for (const size_t y : diff.only_in_b) EXPECT_FALSE(seen_b[y]);
}

TEST(SequenceDiff, FindsWhatIsInOneOnly) {
  const SequenceDiff diff = diff_sequences(texts("abcdef"), texts("abxdeyf"));
  EXPECT_THAT(diff.only_in_a, ElementsAre(2));
  EXPECT_THAT(diff.only_in_b, ElementsAre(2, 5));
  EXPECT_EQ(diff.equal.size(), 5u);
}

TEST(SequenceDiff, EmptyAndEqual) {
  EXPECT_THAT(diff_sequences({}, {}).equal, IsEmpty());
  const Texts all = texts("abc");
  EXPECT_THAT(diff_sequences(all, {}).only_in_a, ElementsAre(0, 1, 2));
  EXPECT_THAT(diff_sequences({}, all).only_in_b, ElementsAre(0, 1, 2));
  EXPECT_EQ(diff_sequences(all, all).equal.size(), 3u);
}

TEST(SequenceDiff, IsMinimal) {
  const uint32_t seed = 20261125;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < 500; ++trial) {
    const auto make = [&] {
      Texts out(random() % 20);
      for (std::string& text : out) text = std::string(1, static_cast<char>('a' + random() % 4));
      return out;
    };
    const Texts a = make(), b = make();
    const SequenceDiff diff = diff_sequences(a, b);
    expect_valid(a, b, diff);
    EXPECT_EQ(diff.equal.size(), common_length(a, b)) << trial;
  }
}

TEST(SequenceDiff, ManyChangesCountAsAll) {
  const Texts a = texts("xabcdefgy"), b = texts("xhijdklmy");
  const SequenceDiff diff = diff_sequences(a, b, 3);
  expect_valid(a, b, diff);
  EXPECT_EQ(diff.equal.size(), 2u);
}

}  // namespace
}  // namespace etb::tools
