// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/covering.hpp"

#include <gtest/gtest.h>

#include "conformance/cases/window.hpp"

namespace etb::conformance {
namespace {

bool has_pair(const std::vector<Levels>& rows, uint32_t a, uint32_t x, uint32_t b, uint32_t y) {
  for (const Levels& row : rows)
    if (row[a] == x && row[b] == y) return true;
  return false;
}

TEST(Covering, HasEveryPairInFewRows) {
  const std::vector<uint32_t> counts = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
  const std::vector<Levels> rows = pairwise_rows(counts, "ten factors");
  for (uint32_t a = 0; a < counts.size(); ++a)
    for (uint32_t b = a + 1; b < counts.size(); ++b)
      for (uint32_t x = 0; x < counts[a]; ++x)
        for (uint32_t y = 0; y < counts[b]; ++y)
          EXPECT_TRUE(has_pair(rows, a, x, b, y)) << a << "=" << x << ", " << b << "=" << y;
  EXPECT_GE(rows.size(), 16u);
  EXPECT_LE(rows.size(), 40u);
}

TEST(Covering, LeavesOutWhatIsNotAllowed) {
  const std::vector<uint32_t> counts = {3, 3, 2, 5};
  const auto is_allowed = [](const Levels& row) {
    return row[0] + row[1] < 4 && (row[2] == 0 || row[3] != 2);
  };
  const std::vector<Levels> rows = pairwise_rows(counts, "limits", is_allowed);
  for (const Levels& row : rows) EXPECT_TRUE(is_allowed(row));
  const auto is_impossible = [](uint32_t a, uint32_t x, uint32_t b, uint32_t y) {
    return (a == 0 && b == 1 && x == 2 && y == 2) || (a == 2 && x == 1 && y == 2);
  };
  for (uint32_t a = 0; a < counts.size(); ++a)
    for (uint32_t b = a + 1; b < counts.size(); ++b)
      for (uint32_t x = 0; x < counts[a]; ++x)
        for (uint32_t y = 0; y < counts[b]; ++y)
          EXPECT_EQ(has_pair(rows, a, x, b, y), !is_impossible(a, x, b, y))
              << a << "=" << x << ", " << b << "=" << y;
}

TEST(Covering, IsAFunctionOfItsSeed) {
  const std::vector<uint32_t> counts = {5, 3, 2, 4};
  EXPECT_EQ(pairwise_rows(counts, "a"), pairwise_rows(counts, "a"));
  EXPECT_NE(pairwise_rows(counts, "a"), pairwise_rows(counts, "b"));
}

TEST(Covering, ManagesFewFactors) {
  EXPECT_TRUE(pairwise_rows({}, "none").empty());
  EXPECT_EQ(pairwise_rows(std::vector<uint32_t>{3}, "one").size(), 3u);
  EXPECT_EQ(pairwise_rows(std::vector<uint32_t>{3, 2}, "two").size(), 6u);
  EXPECT_EQ(pairwise_rows(std::vector<uint32_t>{1, 1, 1}, "single").size(), 1u);
}

struct Layer {
  Window window;
  int64_t channels = 7;
  bool has_bias = false, is_last = true;
};

TEST(DesignOf, RowsAreThoseOfTheSameFactorsOneByOne) {
  Layer base;
  base.is_last = false;
  DesignOf<Layer> design(base);
  add_window(design, &Layer::window, {{{5}, {6}}, {{3}, {1}}, {{1}}, {{0}}, {{1}, {2}}});
  design.add(&Layer::has_bias, {true, false});
  Design plain;
  const auto size = plain.add<Numbers>({{5}, {6}}), kernel = plain.add<Numbers>({{3}, {1}});
  plain.add<int>({1});
  plain.add<int>({0});
  const auto dilation = plain.add<Numbers>({{1}, {2}});
  const auto has_bias = plain.add<bool>({true, false});
  const std::vector<Levels> expected = plain.rows("rows");
  const std::vector<Layer> rows = design.rows("rows");
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].window.size, size(expected[i]));
    EXPECT_EQ(rows[i].window.kernel, kernel(expected[i]));
    EXPECT_EQ(rows[i].window.dilation, dilation(expected[i]));
    EXPECT_EQ(rows[i].has_bias, has_bias(expected[i]));
    EXPECT_EQ(rows[i].channels, 7);
    EXPECT_FALSE(rows[i].is_last);
  }
}

TEST(DesignOf, RejectedRowsAreLeftOut) {
  DesignOf<Layer> design;
  design.add(&Layer::channels, {1, 2, 3});
  design.add(&Layer::has_bias, {true, false});
  const std::vector<Layer> rows =
      design.rows("limits", [](const Layer& layer) { return layer.channels != 2 || !layer.has_bias; });
  EXPECT_EQ(rows.size(), 5u);
  for (const Layer& layer : rows) EXPECT_TRUE(layer.channels != 2 || !layer.has_bias);
}

}  // namespace
}  // namespace etb::conformance
