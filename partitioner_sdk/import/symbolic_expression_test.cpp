// SPDX-License-Identifier: Apache-2.0
// Tests the parser of symbolic sizes.
#include "partitioner_sdk/import/symbolic_expression.hpp"

#include <gtest/gtest.h>

namespace etb::pt2 {
namespace {

std::string read(std::string_view text) {
  ir::SymbolTable symbols;
  const auto dim = parse_expression(text, symbols);
  return dim ? symbols.format(*dim) : "error: " + dim.error().message;
}

constexpr const char* kS = "Symbol('s77', positive=True, integer=True)";

TEST(SymbolicExpression, ReadsWhatSympyWrites) {
  const std::string s = kS;
  EXPECT_EQ(read(s), "s77");
  EXPECT_EQ(read("Integer(-3)"), "-3");
  EXPECT_EQ(read("Add(" + s + ", Integer(1))"), "s77+1");
  EXPECT_EQ(read("Mul(Integer(4), " + s + ")"), "4*s77");
  EXPECT_EQ(read("FloorDiv(" + s + ", Integer(2))"), "s77//2");
  EXPECT_EQ(read("Pow(" + s + ", Integer(2))"), "s77*s77");
  EXPECT_EQ(read("Max(Integer(1), " + s + ", Symbol('u0', integer=True))"), "max(max(s77, 1), u0)");
  EXPECT_EQ(read("PythonMod(" + s + ", Integer(3))"), "mod(s77, 3)");
}

TEST(SymbolicExpression, ReadsPlainTextOfOldFiles) {
  EXPECT_EQ(read("2*s0 + 1"), "2*s0+1");
  EXPECT_EQ(read("(s0 - 1)//2"), "(s0+-1)//2");
  EXPECT_EQ(read("s0**2 - s0*s0"), "0");
}

TEST(SymbolicExpression, ASizeTimesAScaleIsRounded) {
  const std::string size = "ToFloat(Symbol('s0', integer=True))";
  EXPECT_EQ(read("TruncToInt(Mul(Float('2.0', precision=53), " + size + "))"), "2*s0");
  EXPECT_EQ(read("FloorToInt(Mul(Float('1.5', precision=53), " + size + "))"), "3*s0//2");
  EXPECT_EQ(read("CeilToInt(Mul(" + size + ", Float('0.25', precision=53)))"), "(s0+3)//4");
  EXPECT_EQ(read("Add(TruncToInt(" + size + "), Integer(-1))"), "s0+-1");
  EXPECT_EQ(read("TruncToInt(Mul(Float('1.3', precision=53), " + size + "))"), "13*s0//10");
  EXPECT_EQ(read("FloorToInt(IntTrueDiv(Symbol('s0', integer=True), Integer(2)))"), "s0//2");
  EXPECT_EQ(read("FloorToInt(FloatTrueDiv(" + size + ", Float('0.5', precision=53)))"), "2*s0");
  EXPECT_EQ(read("FloorToInt(Mul(Rational(1, 3), Symbol('s0', integer=True)))"), "s0//3");
  EXPECT_EQ(read("TruncToInt(Add(" + size + ", Float('0.5', precision=53)))"), "(2*s0+1)//2");
  EXPECT_EQ(read("CeilToInt(Max(Float('1.5', precision=53), " + size + "))"), "(max(2*s0, 3)+1)//2");
  EXPECT_EQ(read("RoundToInt(Mul(Float('3.0', precision=53), " + size + "))"), "3*s0");
  EXPECT_EQ(read("RoundToInt(IntTrueDiv(Symbol('s0', integer=True), Integer(3)))"), "(2*s0+3)//6");
  for (const std::string divisor : {"Integer(0)", "Symbol('s0', integer=True)"})
    EXPECT_EQ(read("FloorToInt(IntTrueDiv(Integer(3), " + divisor + "))").substr(0, 5), "error") << divisor;
  for (const std::string factor : {"0.12345678912", "1e300", "nan", "-inf", "x", ""})
    EXPECT_EQ(read("TruncToInt(Mul(Float('" + factor + "', precision=53), " + size + "))").substr(0, 5),
              "error")
        << factor;
}

// As Python rounds: half-way numbers to even ones.
TEST(SymbolicExpression, RoundsHalfToEven) {
  for (const auto& [number, expected] : {std::pair("0", "0"),
                                         {"1", "0"},
                                         {"2", "0"},
                                         {"3", "1"},
                                         {"5", "1"},
                                         {"6", "2"},
                                         {"10", "2"},
                                         {"11", "3"},
                                         {"14", "4"}})
    EXPECT_EQ(read("RoundToInt(IntTrueDiv(Integer(" + std::string(number) + "), Integer(4)))"), expected)
        << number;
}

TEST(SymbolicExpression, OtherFunctionsAreNamed) {
  EXPECT_EQ(read("ToFloat(Symbol('s0'))"), "error: symbolic expression: unknown function 'ToFloat'");
  EXPECT_EQ(read("Float('1.5', precision=53)"), "error: symbolic expression: unknown function 'Float'");
}

TEST(SymbolicExpression, RefusesHostileText) {
  std::string deep, wide = "Add(Integer(1)";
  for (int i = 0; i < 10000; ++i) deep += "Add(";
  for (int i = 0; i < 500; ++i) wide += ", Symbol('s" + std::to_string(i) + "')";
  for (const std::string& text :
       {std::string(), deep, wide + ")", std::string("Add("), std::string("Symbol('"),
        std::string("Symbol('S 0')"), std::string("99999999999999999999"),
        std::string("Pow(Symbol('s0'), Integer(900000))"), std::string("1 2"),
        std::string("FloorDiv(Symbol('s0'), Integer(0))"), std::string("Mod(Symbol('s0'))"),
        std::string(100000, '-'),
        std::string("Mul(Integer(9223372036854775807), Integer(9223372036854775807))")}) {
    EXPECT_EQ(read(text).substr(0, 5), "error") << text.substr(0, 60);
  }
}

}  // namespace
}  // namespace etb::pt2
