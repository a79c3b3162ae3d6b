// SPDX-License-Identifier: Apache-2.0
// Tests symbolic numbers: normal form, bounds, division, text, limits.
#include "partitioner_sdk/ir/symbols.hpp"

#include <gtest/gtest.h>

#include "partitioner_sdk/ir/argument_text.hpp"

namespace etb::ir {
namespace {

class SymbolsTest : public ::testing::Test {
 protected:
  Dim read(std::string_view text) {
    auto parsed = parse_formula(text, symbols);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
    return parsed.value_or(Dim(-999));
  }
  SymbolTable symbols;
  Dim a = symbols.add_symbol({"s0", 2, 10, 7});
  Dim b = symbols.add_symbol({"s1", 0, kUnbounded, 3});
};

TEST_F(SymbolsTest, EqualFormulasAreOneNumber) {
  EXPECT_EQ(symbols.mul(symbols.add(a, 1), 4), symbols.add(symbols.mul(4, a), 4));
  EXPECT_EQ(
      symbols.mul(symbols.add(a, b), symbols.add(a, b)),
      symbols.add(symbols.add(symbols.mul(a, a), symbols.mul(b, b)), symbols.mul(2, symbols.mul(a, b))));
  EXPECT_EQ(symbols.sub(a, a), Dim(0));
  EXPECT_NE(a, b);
}

TEST_F(SymbolsTest, DivisionThatComesOutEvenLeavesNoDivision) {
  EXPECT_EQ(symbols.floor_div(symbols.mul(symbols.mul(4, a), b), symbols.mul(2, b)), symbols.mul(2, a));
  EXPECT_EQ(symbols.format(symbols.floor_div(symbols.add(a, 1), 2)), "(s0+1)//2");
  EXPECT_EQ(symbols.mod(symbols.mul(6, a), 3), Dim(0));
}

TEST_F(SymbolsTest, DivisionRoundsDownAndModHasTheDivisorsSign) {
  EXPECT_EQ(symbols.floor_div(-7, 2), Dim(-4));
  EXPECT_EQ(symbols.mod(-7, 3), Dim(2));
  EXPECT_EQ(symbols.mod(7, -3), Dim(-2));
  EXPECT_EQ(symbols.floor_div(INT64_MIN, -1), Dim(INT64_MAX));
  EXPECT_EQ(symbols.mod(INT64_MIN, -1), Dim(0));
}

TEST_F(SymbolsTest, RangesFollowFromTheSymbols) {
  const auto range_of = [&](std::string_view text) { return symbols.range(read(text)); };
  EXPECT_EQ(range_of("4*s0+1").max, 41);
  EXPECT_EQ(range_of("4*s0+1").min, 9);
  EXPECT_EQ(range_of("-1*s0").min, -10);
  EXPECT_EQ(range_of("(s0+1)//2").max, 5);
  EXPECT_EQ(range_of("mod(s0, 3)").max, 2);
  EXPECT_EQ(range_of("min(s1, 8)").max, 8);
  EXPECT_EQ(range_of("s1 + 5").max, kUnbounded);
  EXPECT_EQ(range_of("max(s1, s0)").min, 2);
}

TEST_F(SymbolsTest, HintIsTheExamplesValue) {
  EXPECT_EQ(symbols.hint(read("4*s0 + s1")), 31);
  EXPECT_EQ(symbols.hint(read("s0//2*s1")), 9);
  symbols.add_symbol({"u0", 0, kUnbounded, {}});
  EXPECT_EQ(symbols.hint(read("u0 + 1")), std::nullopt);
}

TEST_F(SymbolsTest, MinAndMaxThatRangesDecideVanish) {
  EXPECT_EQ(symbols.min(a, 100), a);
  EXPECT_EQ(symbols.max(a, 100), Dim(100));
}

TEST_F(SymbolsTest, FormatIsReadBack) {
  for (const char* text : {"s0", "4*s0+1", "s0*s0*s1+-2*s1", "(s0+3)//s1", "mod(s0, 3)", "max(s0, s1)+-1",
                           "min(max(s0, s1), 9)"}) {
    EXPECT_EQ(symbols.format(read(text)), symbols.format(read(symbols.format(read(text)))));
  }
  EXPECT_EQ(symbols.format(read("1 + s0*4")), "4*s0+1");
}

TEST_F(SymbolsTest, FormulasThatGrowOrOverflowAreBeyondLimits) {
  Dim dim = symbols.add(a, b);
  for (int i = 0; i < 200 && !symbols.is_beyond_limits(); ++i) dim = symbols.mul(dim, symbols.add(a, i));
  EXPECT_TRUE(symbols.is_beyond_limits());
  SymbolTable fresh;
  fresh.mul(INT64_MAX, 2);
  EXPECT_TRUE(fresh.is_beyond_limits());
  SymbolTable zero;
  zero.floor_div(1, 0);
  EXPECT_TRUE(zero.is_beyond_limits());
}

TEST_F(SymbolsTest, NestedFormulasDoNotExplode) {
  // Each level uses the one before twice: 2^60 leaves without the limit.
  Dim dim = symbols.floor_div(symbols.add(a, 1), 3);
  for (int i = 0; i < 60; ++i) dim = symbols.mod(symbols.add(dim, 1), symbols.add(dim, 7));
  EXPECT_TRUE(symbols.is_beyond_limits());
}

TEST_F(SymbolsTest, ParserRefusesWhatIsNoFormula) {
  for (std::string_view text : {"", "x9", "floordiv(s0)", "mod(s0)", "min(s0, ", "*", "s0 s1"})
    EXPECT_FALSE(parse_formula(text, symbols)) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "min(";
  EXPECT_FALSE(parse_formula(deep, symbols));
}

}  // namespace
}  // namespace etb::ir
