// SPDX-License-Identifier: Apache-2.0
// Tests reordering constants to row-major order against a plain loop.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {
namespace {

// Returns a constant of random bytes with the storage order `order`, outermost first, and `gap` elements
// after each row of the innermost dimension.
Constant make_constant(Dtype dtype, std::vector<int64_t> sizes, const std::vector<size_t>& order, int64_t gap,
                       std::mt19937& random) {
  Constant constant;
  constant.dtype = dtype;
  constant.strides.resize(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    constant.strides[order[i]] = step;
    step = step * sizes[order[i]] + (i + 1 == order.size() ? gap : 0);
  }
  constant.sizes = std::move(sizes);
  constant.offset = 3;
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(step + gap + 3) *
                                                        ops::element_nbytes(dtype));
  for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random());
  constant.storage = *bytes;
  constant.owner = bytes;
  return constant;
}

std::vector<std::byte> element_by_element(const Constant& constant) {
  const size_t item = ops::element_nbytes(constant.dtype);
  std::vector<std::byte> out;
  for (int64_t n = 0; n < static_cast<int64_t>(constant.numel()); ++n) {
    int64_t at = constant.offset, rest = n;
    for (size_t d = constant.sizes.size(); d-- > 0;) {
      at += rest % constant.sizes[d] * constant.strides[d];
      rest /= constant.sizes[d];
    }
    const std::byte* from = constant.storage.data() + static_cast<size_t>(at) * item;
    out.insert(out.end(), from, from + item);
  }
  return out;
}

TEST(RowMajorElements, AreTheElementsWhateverTheirOrder) {
  std::mt19937 random(7);
  SCOPED_TRACE("seed 7");
  const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  for (const Dtype dtype : {Dtype::INT8, Dtype::FLOAT16, Dtype::FLOAT32, Dtype::INT64}) {
    for (int i = 0; i < 60; ++i) {
      const Constant matrix = make_constant(dtype, {1 + below(70), 1 + below(70)}, {1, 0}, below(3), random);
      EXPECT_EQ(matrix.dense_bytes(), element_by_element(matrix));
      const Constant weight =
          make_constant(dtype, {1 + below(5), 1 + below(5), below(4), 1 + below(4)}, {0, 2, 3, 1}, 0, random);
      EXPECT_EQ(weight.dense_bytes(), element_by_element(weight));
    }
  }
}

TEST(RowMajorElements, ComeInPiecesInOrder) {
  std::mt19937 random(8);
  SCOPED_TRACE("seed 8");
  for (const std::vector<size_t>& order : {std::vector<size_t>{1, 0, 2}, std::vector<size_t>{2, 0, 1}}) {
    const Constant constant = make_constant(Dtype::FLOAT32, {300, 7, 101}, order, 0, random);
    std::vector<std::byte> got;
    size_t count = 0;
    ASSERT_TRUE(constant.give_row_major([&](std::span<const std::byte> piece) -> Status {
      ++count;
      got.insert(got.end(), piece.begin(), piece.end());
      return {};
    }));
    EXPECT_GT(count, 1u);
    EXPECT_EQ(got, element_by_element(constant));
  }
  const Constant matrix = make_constant(Dtype::FLOAT32, {700, 301}, {1, 0}, 0, random);
  size_t count = 0;
  const Status stopped = matrix.give_row_major([&](std::span<const std::byte>) -> Status {
    if (++count == 2) return make_error(Code::ACCESS_FAILED, "full");
    return {};
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "full");
  EXPECT_EQ(count, 2u);
}

}  // namespace
}  // namespace etb::ir
