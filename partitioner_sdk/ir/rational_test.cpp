// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/rational.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace etb::ir {
namespace {

TEST(Rational, ProductsWithSizesRoundAsThoseOfFloats) {
  for (const double scale :
       {2.0, 1.5, 0.5, 1.3, 0.3, 0.1, 0.8, 1.6, 0.4, 1.0 / 3, 2.0 / 3, 1.1, 0.9999, 3.1416, 0.333, 7.77}) {
    const auto r = find_rational(scale);
    ASSERT_TRUE(r.has_value()) << scale;
    for (int64_t size = 0; size <= 65536; ++size) {
      const double product = static_cast<double>(size) * scale;
      ASSERT_EQ(static_cast<int64_t>(std::floor(product)), size * r->numerator / r->denominator)
          << scale << " " << size;
      ASSERT_EQ(static_cast<int64_t>(std::ceil(product)),
                (size * r->numerator + r->denominator - 1) / r->denominator)
          << scale << " " << size;
    }
  }
}

TEST(Rational, RejectsNumbersThatNoSmallFractionStandsFor) {
  for (const double scale :
       {std::sqrt(2.0), 1e300, -1e300, std::nan(""), std::numeric_limits<double>::infinity(), 1e-9})
    EXPECT_FALSE(find_rational(scale).has_value()) << scale;
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
