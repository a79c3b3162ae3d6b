// SPDX-License-Identifier: Apache-2.0
// decompose_resampling: sizes known at compile time become products with weights, others are gathered at run time.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string decomposed(const std::string& size, const std::string& call) {
  return testing::after_pass(
      "etg 1\nmodule \"m\"\nsymbol s0 {4..64}\nsymbol s1 {2..9}\n\ngraph @forward {\n"
      "  user %x: float32[1, 3, " +
          size + ", 8]\n  %y: float32[1, 3, " + call + "\n  return %y\n}\n",
      [](ir::Module& m) { return decompose(m); });
}

TEST(Resampling, KnownSizesAreProductsWithKnownWeights) {
  EXPECT_THAT(
      decomposed("6", "9, 12] = aten.upsample_bicubic2d.vec(%x, none, false, [1.5, 1.5])"),
      AllOf(HasSubstr("aten.mm.default"), Not(HasSubstr("aten.index_select")), Not(HasSubstr("upsample"))));
}

TEST(Resampling, FourNeighboursOfADynamicAxisAreGathered) {
  const std::string text =
      decomposed("s0", "13*s0//10, 10] = aten.upsample_bicubic2d.vec(%x, none, false, [1.3, 1.3])");
  EXPECT_THAT(text, AllOf(HasSubstr("float32[1, 3, 13*s0//10, 10] = aten.index_select.default"),
                          HasSubstr("aten.arange.start_step(0, 13*s0//10"), HasSubstr("aten.clamp.default"),
                          Not(HasSubstr("upsample"))));
}

TEST(Resampling, AStepOfTwoSizesIsComputedByTheProgram) {
  EXPECT_THAT(decomposed("s0", "s1, 12] = aten._upsample_nearest_exact2d.vec(%x, [s1, 12], none)"),
              AllOf(HasSubstr("aten.mul.Scalar("), HasSubstr(", s0)"), HasSubstr("aten.div.Scalar("),
                    HasSubstr(", s1)"), HasSubstr("aten.index_select.default")));
}

TEST(Resampling, AFilterOfUnknownWidthIsAMatrixOfTheProgram) {
  EXPECT_THAT(decomposed("s0", "s0//2, 4] = aten._upsample_bilinear2d_aa.vec(%x, none, false, [0.5, 0.5])"),
              AllOf(HasSubstr("aten.sum.dim_IntList("), HasSubstr("float32[s0, s0//2]"),
                    Not(HasSubstr("index_select"))));
}

TEST(Resampling, RejectsScalesThatAreNoSmallFraction) {
  for (const std::string scale : {"0.7", "1e300", "-1.0", "1e-30"})
    EXPECT_THAT(
        decomposed("s0", "s0, 8] = aten.upsample_bicubic2d.vec(%x, none, false, [" + scale + ", 1.0])"),
        HasSubstr("error: "))
        << scale;
}

}  // namespace
}  // namespace etb::passes
