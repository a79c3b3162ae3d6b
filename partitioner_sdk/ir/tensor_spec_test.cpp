// SPDX-License-Identifier: Apache-2.0
// Tests strides and dim orders of tensor specs.
#include "partitioner_sdk/ir/tensor_spec.hpp"

#include <gtest/gtest.h>

namespace etb::ir {
namespace {

using Order = std::vector<uint8_t>;

TEST(TensorSpec, FindsOrderOfDenseTensors) {
  SymbolTable symbols;
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {2, 3, 4}, {12, 4, 1}}), (Order{0, 1, 2}));
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {2, 3, 4, 5}, {60, 1, 15, 3}}), (Order{0, 2, 3, 1}));
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {3, 2}, {1, 3}}), (Order{1, 0}));
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {}, {}}), Order{});
}

TEST(TensorSpec, ViewsWithGapsOrRepeatsHaveNoOrder) {
  SymbolTable symbols;
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {2, 3}, {4, 1}}), std::nullopt);
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {2, 3}, {0, 1}}), std::nullopt);
}

TEST(TensorSpec, StridesOfSizeOneDoNotMatter) {
  SymbolTable symbols;
  EXPECT_TRUE(is_contiguous(symbols, {Dtype::FLOAT32, {1, 3}, {77, 1}}));
  EXPECT_TRUE(is_channels_last(symbols, {Dtype::FLOAT32, {1, 8, 1, 1}, {8, 1, 8, 8}}));
  EXPECT_TRUE(is_contiguous(symbols, {Dtype::FLOAT32, {0, 3}, {1, 1}}));
}

TEST(TensorSpec, SymbolicStridesAreCompared) {
  SymbolTable symbols;
  const Dim s = symbols.add_symbol({"s0", 2, 9, 4});
  const Dims sizes = {s, 3, symbols.add(s, 1)};
  const TensorSpec spec = {Dtype::FLOAT32, sizes, contiguous_strides(symbols, sizes)};
  EXPECT_EQ(symbols.format(spec.strides[0]), "3*s0+3");
  EXPECT_TRUE(is_contiguous(symbols, spec));
  EXPECT_EQ(find_dim_order(symbols, {Dtype::FLOAT32, {s, 3}, {1, s}}), (Order{1, 0}));
}

}  // namespace
}  // namespace etb::ir
