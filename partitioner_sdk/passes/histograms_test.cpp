// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string decomposed(const std::string& results, const std::string& call) {
  return testing::after_pass(
      "etg 1\nmodule \"m\"\n\ngraph @forward {\n  user %x: float32[9, 2]\n  user %e: float32[4]\n  [" +
          results + "] = aten.histogramdd." + call + "\n  return %h\n}\n",
      [](ir::Module& m) { return decompose(m); });
}

TEST(Histograms, PointsAreAddedToTheCellsOfTheirBins) {
  EXPECT_THAT(
      decomposed("%h: float32[2, 3], %a: float32[3], %b: float32[4]", "default(%x, [2, 3])"),
      AllOf(HasSubstr("aten.searchsorted.Tensor"), HasSubstr("float32[7] = aten.scatter_add.default")));
  EXPECT_THAT(
      decomposed("%h: float32[3, 3], %a: float32[4], %b: float32[4]", "TensorList_bins(%x, [%e, %e])"),
      HasSubstr("float32[10] = aten.scatter_add.default"));
}

TEST(Histograms, RejectsHostileBins) {
  const std::string results = "%h: float32[2, 3], %a: float32[3], %b: float32[4]";
  EXPECT_THAT(decomposed(results, "default(%x, [2, 3, 4])"), HasSubstr("bins for 3 dimensions"));
  EXPECT_THAT(decomposed(results, "default(%x, [0, 3])"), HasSubstr("0 bins, expected 1 to 2^24 - 1"));
  EXPECT_THAT(decomposed(results, "default(%x, [8000000, 8000000])"), HasSubstr("at most 2^31 cells"));
  EXPECT_THAT(decomposed(results, "default(%x, [2, 3], [0.0])"), HasSubstr("a range of 1 numbers"));
}

}  // namespace
}  // namespace etb::passes
