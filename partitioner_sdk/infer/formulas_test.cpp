// SPDX-License-Identifier: Apache-2.0
// Rules over formulas agree with the same rules over numbers: a formula, evaluated at a size, equals the
// number for that size.
#include "partitioner_sdk/infer/formulas.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "api/ops/sizes/view.hpp"
#include "api/ops/sizes/window.hpp"

namespace etb::infer {
namespace {

using ir::Dim;

constexpr uint32_t kSeed = 20261122;
constexpr int kRounds = 2000;

class FormulasTest : public ::testing::Test {
 protected:
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  // A formula over a symbol with values from `least` up; its present value is `value`.
  Dim formula(int64_t least, int64_t value) {
    const Dim dim =
        symbols_.add_symbol({"s" + std::to_string(symbols_.symbol_count()), least, ir::kUnbounded, value});
    return symbols_.add(dim, 0);
  }
  int64_t value_of(Dim dim) { return symbols_.hint(dim).value(); }

  std::mt19937 random_{kSeed};
  ir::SymbolTable symbols_;
  Formulas formulas_{symbols_};
  ops::Numbers numbers_;
};

TEST_F(FormulasTest, WindowsAgreeWithNumbers) {
  int compared = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t size = pick(1, 40), kernel = pick(1, 5);
    ops::Window window{kernel, pick(1, 4), pick(1, 3)};
    window.set_padding(pick(0, kernel / 2));
    int64_t count = 0;
    if (ops::count_positions(numbers_, size, window, ops::WindowRounding::kDown, &count) !=
        ops::WindowError::kNone)
      continue;
    Dim dim;
    ASSERT_EQ(ops::count_positions(formulas_, formula(1, size), window, ops::WindowRounding::kDown, &dim),
              ops::WindowError::kNone);
    EXPECT_EQ(value_of(dim), count) << "round " << round << " of seed " << kSeed;
    const int64_t output_padding = pick(0, window.stride - 1);
    int64_t large = 0;
    if (ops::transposed_size(numbers_, size, window, output_padding, &large) == ops::WindowError::kNone) {
      ASSERT_EQ(ops::transposed_size(formulas_, formula(1, size), window, output_padding, &dim),
                ops::WindowError::kNone);
      EXPECT_EQ(value_of(dim), large) << "round " << round << " of seed " << kSeed;
    }
    ++compared;
  }
  EXPECT_GT(compared, kRounds / 2);
  EXPECT_FALSE(numbers_.has_overflowed() || formulas_.has_overflowed());
}

// A formula keeps the position that numbers drop because it would begin in the padding.
TEST_F(FormulasTest, CeilingWindowsAreUpperBounds) {
  int equal = 0, above = 0;
  for (int round = 0; round < kRounds; ++round) {
    const int64_t size = pick(1, 40), kernel = pick(1, 5);
    ops::Window window{kernel, pick(1, 4), pick(1, 3)};
    window.set_padding(pick(0, kernel / 2));
    int64_t count = 0;
    if (ops::count_positions(numbers_, size, window, ops::WindowRounding::kUp, &count) !=
        ops::WindowError::kNone)
      continue;
    Dim dim;
    ASSERT_EQ(ops::count_positions(formulas_, formula(1, size), window, ops::WindowRounding::kUp, &dim),
              ops::WindowError::kNone);
    const bool is_left_out = count * window.stride >= size + window.padding_before;
    EXPECT_LE(count, value_of(dim));
    EXPECT_LE(value_of(dim), is_left_out ? count + 1 : count) << "round " << round << " of seed " << kSeed;
    (value_of(dim) == count ? equal : above) += 1;
  }
  EXPECT_GT(equal, 0);
  EXPECT_GT(above, 0);
}

TEST_F(FormulasTest, SlicesAgreeWithNumbers) {
  for (int round = 0; round < kRounds; ++round) {
    const int64_t size = pick(0, 20), from = pick(-25, 25), to = pick(-25, 25), step = pick(1, 4);
    const int64_t start = ops::slice_bound(numbers_, size, from);
    const int64_t end = numbers_.max(ops::slice_bound(numbers_, size, to), start);
    const Dim dim = formula(0, size);
    const Dim first = ops::slice_bound(formulas_, dim, Dim(from));
    const Dim last = formulas_.max(ops::slice_bound(formulas_, dim, Dim(to)), first);
    EXPECT_EQ(value_of(ops::slice_count(formulas_, first, last, step)),
              ops::slice_count(numbers_, start, end, step))
        << size << "[" << from << ":" << to << ":" << step << "], round " << round << " of seed " << kSeed;
  }
  EXPECT_FALSE(formulas_.has_overflowed());
}

TEST_F(FormulasTest, OpenSizesAgreeWithNumbers) {
  for (int round = 0; round < kRounds; ++round) {
    const int64_t batch = pick(1, 9), factor = pick(1, 6), rows = pick(1, 6);
    std::vector<int64_t> sizes = {rows, -1};
    std::vector<Dim> dims = {rows, -1};
    size_t index = 0;
    if (ops::fill_open_size(numbers_, batch * factor, sizes, &index) != ops::ReshapeError::kNone) continue;
    const Dim numel = formulas_.mul(formula(1, batch), factor);
    ASSERT_EQ(ops::fill_open_size(formulas_, numel, dims, &index), ops::ReshapeError::kNone);
    EXPECT_EQ(value_of(dims[1]), sizes[1]) << "round " << round << " of seed " << kSeed;
  }
}

TEST_F(FormulasTest, BroadcastsAndExpansionsAgreeWithNumbers) {
  for (int round = 0; round < kRounds; ++round) {
    const int64_t own = pick(1, 3), wanted = pick(0, 3) == 0 ? 1 : own;
    const auto size = ops::broadcast_size(numbers_, own, wanted);
    const auto dim = ops::broadcast_size(formulas_, own == 1 ? Dim(1) : formula(2, own), Dim(wanted));
    ASSERT_TRUE(size && dim);
    EXPECT_EQ(value_of(*dim), *size) << "round " << round << " of seed " << kSeed;
    const auto expanded = ops::expand_size(formulas_, formula(2, own), Dim(-1));
    EXPECT_EQ(value_of(expanded->size), ops::expand_size(numbers_, own, int64_t{-1})->size);
    EXPECT_TRUE(expanded->is_kept);
  }
}

}  // namespace
}  // namespace etb::infer
