// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/rational.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace etb::ir {
namespace {

TEST(Rational, ProductsWithSizesRoundAsThoseOfFloats) {
  for (const double scale :
       {2.0, 1.5, 0.5, 1.3, 0.3, 0.1, 0.8, 1.6, 0.4, 1.0 / 3, 1.1, 0.9999, 3.1416, 7.77}) {
    const auto down = find_rational(scale, Rounding::kDown), up = find_rational(scale, Rounding::kUp);
    EXPECT_TRUE(down || up) << scale;
    for (int64_t size = 0; size <= 65536; ++size) {
      const double product = static_cast<double>(size) * scale;
      if (down) {
        ASSERT_EQ(static_cast<int64_t>(std::floor(product)), size * down->numerator / down->denominator)
            << scale << " " << size;
      }
      if (up) {
        ASSERT_EQ(static_cast<int64_t>(std::ceil(product)),
                  (size * up->numerator + up->denominator - 1) / up->denominator)
            << scale << " " << size;
      }
    }
  }
  EXPECT_EQ(find_rational(1.1, Rounding::kDown)->denominator, 10);
}

TEST(Rational, RejectsNumbersThatNoSmallFractionEquals) {
  // 90 * 0.7 is less than 63 in floats, and 10 * 0.7 is 7.
  for (const double scale : {0.7, 1e300, -1e300, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(find_rational(scale, Rounding::kDown).has_value()) << scale;
}

TEST(Rational, ScaledSizesAreFormulas) {
  SymbolTable symbols;
  const Dim s = symbols.add_symbol({"s0", 1, 64, {}});
  EXPECT_EQ(symbols.format(*scaled_size(symbols, s, 1.3)), "13*s0//10");
  EXPECT_EQ(symbols.format(*scaled_size(symbols, s, 2)), "2*s0");
  EXPECT_EQ(scaled_size(symbols, 10, 0.7)->value(), 7);
  EXPECT_FALSE(scaled_size(symbols, s, -1).has_value());
  EXPECT_FALSE(scaled_size(symbols, 10, std::numeric_limits<double>::infinity()).has_value());
}

}  // namespace
}  // namespace etb::ir
