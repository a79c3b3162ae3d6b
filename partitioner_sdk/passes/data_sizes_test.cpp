// SPDX-License-Identifier: Apache-2.0
// decompose_data_sizes: sizes that depend on data keep the exporter's symbols, and get the bounds that follow from the inputs.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::HasSubstr;

std::string decomposed(const std::string& symbols, const std::string& graph) {
  return testing::after_pass("etg 1\nmodule \"m\"\n" + symbols + "\ngraph @forward {\n" + graph + "}\n",
                             [](ir::Module& m) { return decompose(m); });
}

TEST(DataSizes, AMaskThatBroadcastsRaisesTheBoundOfItsSelection) {
  const std::string graph =
      "  user %x: float32[10]\n  user %m: bool[4, 10]\n"
      "  %y: float32[u0] = aten.masked_select.default(%x, %m)\n  return %y\n";
  EXPECT_THAT(decomposed("symbol u0 {0..10}\n", graph), HasSubstr("symbol u0 {0..40}"));
  EXPECT_THAT(decomposed("symbol u0 {0..9223372036854775806}\n", graph), HasSubstr("symbol u0 {0..40}"));
  EXPECT_EQ(decomposed("symbol u0 {0..3}\n", graph), "unchanged");  // the user's own bound
}

TEST(DataSizes, CountsOfASmallDtypeHaveABound) {
  const auto after = [](const std::string& dtype) {
    return decomposed("symbol u0 {0..9223372036854775806}\n",
                      "  user %x: " + dtype +
                          "[5]\n  %y: int64[u0] = aten.bincount.default(%x, none, 200)\n"
                          "  return %y\n");
  };
  EXPECT_THAT(after("uint8"), HasSubstr("symbol u0 {0..256}"));
  EXPECT_THAT(after("int8"), HasSubstr("symbol u0 {0..200}"));
  EXPECT_EQ(after("int64"), "unchanged");
}

TEST(DataSizes, NonzeroNumpyIsTheColumnsOfNonzero) {
  EXPECT_THAT(decomposed("symbol u0 {0..6}\n",
                         "  user %x: float32[2, 3]\n"
                         "  [%a: int64[u0], %b: int64[u0]] = aten.nonzero_numpy.default(%x)\n"
                         "  return %a, %b\n"),
              HasSubstr("int64[u0, 2] = aten.nonzero.default(%x)"));
}

TEST(DataSizes, RepeatsAreIndicesOfTheExportersSize) {
  EXPECT_THAT(
      decomposed("symbol u0 {0..9}\n",
                 "  user %x: float32[2, 3]\n  user %n: int64[3]\n"
                 "  %y: float32[2, u0] = aten.repeat_interleave.self_Tensor(%x, %n, 1)\n  return %y\n"),
      HasSubstr("int64[u0] = aten.repeat_interleave.Tensor(%n)"));
}

TEST(DataSizes, PartsOfASplitBetweenIndicesAreGathered) {
  const std::string after = decomposed(
      "symbol u0 {0..5}\nsymbol u1 {0..5}\n",
      "  user %x: float32[5]\n  user %i: int64[1]\n"
      "  [%a: float32[u0], %b: float32[u1]] = aten.tensor_split.tensor_indices_or_sections(%x, %i)\n"
      "  return %a, %b\n");
  EXPECT_THAT(after, HasSubstr("float32[u0] = aten.index_select.default(%x, 0, "));
  EXPECT_THAT(after, HasSubstr("float32[u1] = aten.index_select.default(%x, 0, "));
}

TEST(DataSizes, ASplitIntoAnotherNumberOfPartsIsAnError) {
  EXPECT_THAT(
      decomposed("symbol u0 {0..5}\n",
                 "  user %x: float32[5]\n  user %i: int64[3]\n"
                 "  [%a: float32[u0]] = aten.tensor_split.tensor_indices_or_sections(%x, %i)\n  return %a\n"),
      HasSubstr("the exporter's 1 parts"));
}

}  // namespace
}  // namespace etb::passes
