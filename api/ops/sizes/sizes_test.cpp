// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "api/ops/sizes/reduction.hpp"
#include "api/ops/sizes/view.hpp"
#include "api/ops/sizes/window.hpp"

namespace etb::ops {
namespace {

using List = std::vector<int64_t>;

TEST(Numbers, DivideAsPython) {
  Numbers numbers;
  EXPECT_EQ(numbers.floor_div(7, 2), 3);
  EXPECT_EQ(numbers.floor_div(-7, 2), -4);
  EXPECT_EQ(numbers.ceil_div(7, 2), 4);
  EXPECT_EQ(numbers.ceil_div(-7, 2), -3);
  EXPECT_EQ(numbers.ceil_div(8, 2), 4);
  EXPECT_FALSE(numbers.has_overflowed());
}

TEST(Numbers, RecordWhatLeavesInt64) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const auto overflows = [](auto calculate) {
    Numbers numbers;
    EXPECT_EQ(calculate(numbers), 0);
    return numbers.has_overflowed();
  };
  EXPECT_TRUE(overflows([](Numbers& n) { return n.add(kMost, 1); }));
  EXPECT_TRUE(overflows([](Numbers& n) { return n.sub(kLeast, 1); }));
  EXPECT_TRUE(overflows([](Numbers& n) { return n.mul(kMost, 2); }));
  EXPECT_TRUE(overflows([](Numbers& n) { return n.floor_div(kLeast, -1); }));
  EXPECT_TRUE(overflows([](Numbers& n) { return n.ceil_div(1, 0); }));
}

// Counts positions one after the other.
int64_t count_by_hand(int64_t size, const Window& window, bool rounds_up) {
  const int64_t end = size + window.padding_before + window.padding_after;
  const int64_t reach = window.dilation * (window.kernel - 1) + 1;
  int64_t count = 0;
  while (count * window.stride + reach <= end) ++count;
  // One more position if elements are left over and it begins inside the image or in the padding before it.
  const bool has_rest = (count - 1) * window.stride + reach < end;
  if (rounds_up && has_rest && count * window.stride < size + window.padding_before) ++count;
  return count;
}

TEST(Windows, CountEveryPosition) {
  int found = 0;
  for (int64_t size = 1; size <= 9; ++size) {
    for (int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (int64_t stride = 1; stride <= 4; ++stride) {
        for (int64_t dilation = 1; dilation <= 3; ++dilation) {
          for (int64_t padding = 0; padding <= kernel / 2; ++padding) {
            for (const bool rounds_up : {false, true}) {
              const Window window = {kernel, stride, dilation, padding, padding};
              Numbers numbers;
              int64_t count = 0;
              const auto rounding = rounds_up ? WindowRounding::kUp : WindowRounding::kDown;
              if (count_positions(numbers, size, window, rounding, &count) != WindowError::kNone) continue;
              ++found;
              const int64_t reach = dilation * (kernel - 1) + 1;
              // A window that only ceil_mode lets in has its one position.
              const bool is_cut = size + 2 * padding < reach;
              EXPECT_EQ(count, is_cut ? 1 : count_by_hand(size, window, rounds_up))
                  << size << " " << kernel << " " << stride << " " << dilation << " " << padding << rounds_up;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(found, 1000);
}

TEST(Windows, RefuseWhatDoesNotFit) {
  Numbers numbers;
  int64_t count = 0;
  EXPECT_EQ(count_positions(numbers, 2, {.kernel = 3}, WindowRounding::kDown, &count),
            WindowError::kDoesNotFit);
  EXPECT_EQ(count_positions(numbers, 2, {.kernel = 3, .stride = 2}, WindowRounding::kUp, &count),
            WindowError::kNone);
  EXPECT_EQ(count_positions(numbers, 2, {.kernel = 3, .stride = 0}, WindowRounding::kDown, &count),
            WindowError::kStride);
  EXPECT_EQ(transposed_size(numbers, 1, {.padding_before = 1, .padding_after = 1}, 0, &count),
            WindowError::kDoesNotFit);
}

TEST(Windows, TransposedConvolutionUndoesTheConvolution) {
  for (int64_t size = 4; size <= 12; ++size) {
    const Window window = {3, 2, 1, 1, 1};
    Numbers numbers;
    int64_t small = 0, large = 0;
    ASSERT_EQ(count_positions(numbers, size, window, WindowRounding::kDown, &small), WindowError::kNone);
    ASSERT_EQ(transposed_size(numbers, small, window, (size - 1) % 2, &large), WindowError::kNone);
    EXPECT_EQ(large, size);
  }
}

TEST(Windows, OneItemStandsForAllDimensions) {
  EXPECT_EQ(item_of(List{7}, 2), 7);
  EXPECT_EQ(item_of(List{7, 8}, 1), 8);
  EXPECT_EQ(item_of(List{7, 8}, 2), std::nullopt);
  EXPECT_EQ(item_of(List{}, 0), std::nullopt);
}

TEST(Broadcasting, MatchesFromTheLastDimension) {
  const Numbers numbers;
  std::array<int64_t, 3> result = {1, 1, 1};
  EXPECT_TRUE(broadcast_into(numbers, List{4, 1}, result.data(), 3));
  EXPECT_TRUE(broadcast_into(numbers, List{2, 1, 3}, result.data(), 3));
  EXPECT_EQ(result, (std::array<int64_t, 3>{2, 4, 3}));
  EXPECT_FALSE(broadcast_into(numbers, List{5, 3}, result.data(), 3));
  EXPECT_TRUE(broadcasts_to(numbers, List{4, 1}, result));
  EXPECT_FALSE(broadcasts_to(numbers, List{2, 3}, result));
}

TEST(Reductions, KeepOrDropDimensions) {
  List kept, dropped;
  const auto is_reduced = [](size_t i) { return i != 1; };
  reduce_sizes(Numbers(), List{2, 3, 4}, is_reduced, true, [&](int64_t size) { kept.push_back(size); });
  reduce_sizes(Numbers(), List{2, 3, 4}, is_reduced, false, [&](int64_t size) { dropped.push_back(size); });
  EXPECT_EQ(kept, (List{1, 3, 1}));
  EXPECT_EQ(dropped, (List{3}));
}

TEST(Axes, CountFromTheEnd) {
  EXPECT_EQ(wrap_axis(-1, 3), 2u);
  EXPECT_EQ(wrap_axis(3, 3), std::nullopt);
  EXPECT_EQ(wrap_axis(-4, 3), std::nullopt);
  EXPECT_EQ(wrap_axis(-1, 0), 0u);  // a tensor of rank 0
}

TEST(Views, FillTheOpenSize) {
  const auto filled = [](int64_t numel, List sizes, ReshapeError expected) {
    Numbers numbers;
    size_t index = 0;
    EXPECT_EQ(fill_open_size(numbers, numel, sizes, &index), expected);
    return sizes;
  };
  EXPECT_EQ(filled(12, {3, -1}, ReshapeError::kNone), (List{3, 4}));
  EXPECT_EQ(filled(0, {3, -1}, ReshapeError::kNone), (List{3, 0}));
  filled(12, {-1, -1}, ReshapeError::kSize);
  filled(12, {int64_t{1} << 40, int64_t{1} << 40}, ReshapeError::kSize);
  filled(12, {5, -1}, ReshapeError::kDoesNotDivide);
  filled(0, {0, -1}, ReshapeError::kDoesNotDivide);
  filled(12, {5, 2}, ReshapeError::kDiffers);
}

TEST(Views, ExpandOnlyOnes) {
  const Numbers numbers;
  EXPECT_TRUE(expand_size(numbers, 3, -1)->is_kept);
  EXPECT_EQ(expand_size(numbers, 3, -1)->size, 3);
  EXPECT_EQ(expand_size(numbers, 1, 0)->size, 0);
  EXPECT_FALSE(expand_size(numbers, 1, 5)->is_kept);
  EXPECT_FALSE(expand_size(numbers, 3, 5).has_value());
  EXPECT_FALSE(expand_size(numbers, 1, -2).has_value());
  EXPECT_FALSE(expand_new_size(numbers, -1).has_value());
}

TEST(Views, SliceAsPython) {
  const auto count = [](int64_t size, int64_t from, int64_t to, int64_t step) {
    Numbers numbers;
    const int64_t start = slice_bound(numbers, size, from);
    return slice_count(numbers, start, std::max(start, slice_bound(numbers, size, to)), step);
  };
  EXPECT_EQ(count(5, -3, std::numeric_limits<int64_t>::max(), 1), 3);
  EXPECT_EQ(count(5, 0, 4, 3), 2);
  EXPECT_EQ(count(5, 4, 2, 1), 0);
  EXPECT_EQ(count(5, -9, 9, std::numeric_limits<int64_t>::max()), 1);
}

TEST(Views, ReadPermutations) {
  std::array<int, 3> order{};
  size_t index = 0;
  EXPECT_EQ(read_permutation(List{2, -3, 1}, 3, order.data(), &index), PermutationError::kNone);
  EXPECT_EQ(order, (std::array<int, 3>{2, 0, 1}));
  EXPECT_EQ(read_permutation(List{0, 1}, 3, order.data(), &index), PermutationError::kCount);
  EXPECT_EQ(read_permutation(List{0, 3, 1}, 3, order.data(), &index), PermutationError::kAxis);
  EXPECT_EQ(read_permutation(List{0, 1, -3}, 3, order.data(), &index), PermutationError::kTwice);
  EXPECT_EQ(index, 2u);
}

TEST(Views, JoinEqualSizes) {
  const Numbers numbers;
  EXPECT_TRUE(can_join(numbers, List{2, 3}, List{2, 9}, 1));
  EXPECT_FALSE(can_join(numbers, List{2, 3}, List{2, 9}, 0));
  EXPECT_FALSE(can_join(numbers, List{2, 3}, List{2}, 0));
  EXPECT_TRUE(is_skipped_by_cat(numbers, List{0}));
  EXPECT_FALSE(is_skipped_by_cat(numbers, List{0, 1}));
}

}  // namespace
}  // namespace etb::ops
