// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string lowered(const std::string& body) { return testing::after_pass_of_graph(body, lower_complex); }

TEST(LowerComplex, RealGraphsStay) {
  EXPECT_EQ(lowered("  user %x: float32[2]\n  %y: float32[2] = aten.abs.default(%x)\n  return %y\n"),
            "unchanged");
}

TEST(LowerComplex, AProductIsFourRealOnes) {
  EXPECT_EQ(lowered("  user %x: float32[3, 2]\n"
                    "  user %y: float32[3, 2]\n"
                    "  %a: complex64[3] = aten.view_as_complex.default(%x)\n"
                    "  %b: complex64[3] = aten.view_as_complex.default(%y)\n"
                    "  %c: complex64[3] = aten.mul.Tensor(%a, %b)\n"
                    "  %d: float32[3, 2] = aten.view_as_real.default(%c)\n"
                    "  return %d\n"),
            "etg 1\nmodule \"m\"\n\ngraph @forward {\n"
            "  user %x: float32[3, 2]\n"
            "  user %y: float32[3, 2]\n"
            "  %0: float32[3] strides(2) = aten.select.int(%x, -1, 0)\n"
            "  %1: float32[3] strides(2) = aten.select.int(%x, -1, 1)\n"
            "  %2: float32[3] strides(2) = aten.select.int(%y, -1, 0)\n"
            "  %3: float32[3] strides(2) = aten.select.int(%y, -1, 1)\n"
            "  %4: float32[3] = aten.mul.Tensor(%0, %2)\n"
            "  %5: float32[3] = aten.mul.Tensor(%1, %3)\n"
            "  %6: float32[3] = aten.sub.Tensor(%4, %5)\n"
            "  %7: float32[3] = aten.mul.Tensor(%0, %3)\n"
            "  %8: float32[3] = aten.mul.Tensor(%1, %2)\n"
            "  %9: float32[3] = aten.add.Tensor(%7, %8)\n"
            "  %10: float32[3, 1] = aten.unsqueeze.default(%6, 1)\n"
            "  %11: float32[3, 1] = aten.unsqueeze.default(%9, 1)\n"
            "  %d: float32[3, 2] = aten.cat.default([%10, %11], 1)\n"
            "  return %d\n}\n");
}

TEST(LowerComplex, InputsAndOutputsOfTheUserStayComplex) {
  EXPECT_EQ(lowered("  user %x: complex128[2]\n"
                    "  %y: complex128[2] = aten._conj.default(%x)\n"
                    "  return %y\n"),
            "etg 1\nmodule \"m\"\n\ngraph @forward {\n"
            "  user %x: complex128[2]\n"
            "  %0: float64[2, 2] = aten.view_as_real.default(%x)\n"
            "  %1: float64[2] strides(2) = aten.select.int(%0, -1, 0)\n"
            "  %2: float64[2] strides(2) = aten.select.int(%0, -1, 1)\n"
            "  %3: float64[2] = aten.neg.default(%2)\n"
            "  %y: complex128[2] = aten.complex.default(%1, %3)\n"
            "  return %y\n}\n");
}

TEST(LowerComplex, PythonNumbersHaveParts) {
  const std::string text = lowered(
      "  user %x: float32[2]\n"
      "  %y: complex64[2] = aten.mul.Tensor(%x, complex(0.0, 2.0))\n"
      "  %z: float32[2] = aten.imag.default(%y)\n"
      "  return %z\n");
  EXPECT_THAT(text, AllOf(HasSubstr("aten.mul.Scalar(%x, 2.0)"), Not(HasSubstr("complex"))));
}

TEST(LowerComplex, StateIsStoredAsPairs) {
  const std::string text = testing::after_pass(
      "etg 1\nmodule \"m\"\nconstant \"w\": complex64[1] = 0x0000000000000000\n\ngraph @forward {\n"
      "  buffer %b: complex64[1] = \"w\" as \"w\"\n"
      "  %y: complex64[1] = aten.add.Tensor(%b, complex(1.0, 2.0))\n"
      "  %z: float32[1] = aten.abs.default(%y)\n"
      "  return %y updates %b, %z\n}\n",
      lower_complex);
  EXPECT_THAT(text, AllOf(HasSubstr("constant \"w\": float32[1, 2]"), HasSubstr("buffer %b: float32[1, 2]"),
                          HasSubstr("aten.hypot.default"), Not(HasSubstr("complex"))));
}

TEST(LowerComplex, TransformsReadComplexTensors) {
  const std::string text = lowered(
      "  user %x: float32[2, 8]\n"
      "  %a: complex64[2, 5] = aten.fft_rfft.default(%x)\n"
      "  %b: complex64[2, 5] = aten.mul.Tensor(%a, %a)\n"
      "  %c: float32[2, 8] = aten.fft_irfft.default(%b)\n"
      "  return %c\n");
  EXPECT_THAT(
      text, AllOf(HasSubstr("complex64[2, 5] = aten._fft_r2c.default(%x, [1], 0, true)"),
                  HasSubstr("complex64[2, 5] = aten.complex.default"), HasSubstr("aten._fft_c2r.default(")));
}

TEST(LowerComplex, BranchesGetPairs) {
  const std::string text = testing::after_pass(R"(etg 1
module "m"

graph @forward {
  user %p: bool[]
  user %x: float32[3, 2]
  %a: complex64[3] = aten.view_as_complex.default(%x)
  %y: complex64[3] = higher_order.cond.default(%p, @yes, @no, [%a])
  %z: float32[3] = aten.abs.default(%y)
  return %z
}

graph @yes {
  user %a: complex64[3]
  %b: complex64[3] = aten._conj.default(%a)
  return %b
}

graph @no {
  user %a: complex64[3]
  %b: complex64[3] = aten.neg.default(%a)
  return %b
}
)",
                                               lower_complex);
  EXPECT_THAT(text, AllOf(HasSubstr("%y: float32[3, 2] = higher_order.cond.default(%p, @yes, @no, [%x])"),
                          HasSubstr("user %a: float32[3, 2]"), Not(HasSubstr("complex64"))));
}

TEST(LowerComplex, RejectsOpsWithoutAFormulaByName) {
  EXPECT_THAT(lowered("  user %x: complex64[2, 2]\n"
                      "  %y: complex64[2, 2] = aten.lgamma.default(%x)\n"
                      "  %z: complex64[2] = aten.erfinv.default(%y)\n"
                      "  return %z\n"),
              AllOf(HasSubstr("aten.lgamma.default: no kernel for complex numbers"),
                    HasSubstr("aten.erfinv.default: no kernel for complex numbers")));
}

TEST(LowerComplex, RandomNumbersAreDrawnAsPairs) {
  const std::string text = lowered(
      "  %x: complex64[3] = aten.randn.default([3], dtype=complex64)\n"
      "  %y: complex128[3] = aten.rand.default([3], dtype=complex128)\n"
      "  %z: complex64[3] = aten.normal_functional.default(%x, 2.0, 1.0)\n"
      "  return %x, %y, %z\n");
  EXPECT_THAT(text, AllOf(HasSubstr("float32[3, 2] = aten.randn.default([3, 2], dtype=float32"),
                          HasSubstr("aten.mul.Scalar(%0, 0.7071067811865475)"),
                          HasSubstr("float64[3, 2] = aten.rand.default([3, 2], dtype=float64"),
                          HasSubstr("aten.add.Scalar(")));
}

TEST(LowerComplex, IndicesAndReplacementsAreTheSameForBothParts) {
  const std::string split = lowered(
      "  user %x: complex64[4]\n"
      "  user %i: int64[1]\n"
      "  [%a: complex64[2], %b: complex64[2]] = aten.tensor_split.tensor_indices_or_sections(%x, %i)\n"
      "  return %a, %b\n");
  EXPECT_THAT(split, AllOf(HasSubstr("tensor_indices_or_sections(%1, %i"),
                           HasSubstr("tensor_indices_or_sections(%2, %i")));
  const std::string finite = lowered(
      "  user %x: complex64[4]\n"
      "  %y: complex64[4] = aten.nan_to_num.default(%x, 3.0)\n"
      "  return %y\n");
  EXPECT_THAT(finite,
              AllOf(HasSubstr("nan_to_num.default(%1, 3.0"), HasSubstr("nan_to_num.default(%2, 3.0")));
}

TEST(LowerComplex, ANumberIsNonzeroIfEitherPartIs) {
  EXPECT_THAT(lowered("  user %x: complex64[4]\n"
                      "  %y: int64[3, 1] = aten.nonzero_static.default(%x, size=3)\n"
                      "  return %y\n"),
              AllOf(HasSubstr("aten.logical_or.default"), HasSubstr("nonzero_static.default(%5, size=3")));
}

TEST(LowerComplex, ARunningLogSumStaysOneComplexKernel) {
  EXPECT_THAT(lowered("  user %x: float32[4, 2]\n"
                      "  %y: complex64[4] = aten.view_as_complex.default(%x)\n"
                      "  %z: complex64[4] = aten.logcumsumexp.default(%y, 0)\n"
                      "  return %z\n"),
              AllOf(HasSubstr("%2: complex64[4] = aten.complex.default(%0, %1)"),
                    HasSubstr("%z: complex64[4] = aten.logcumsumexp.default(%2, 0)")));
}

TEST(LowerComplex, ARealDtypeTakesTheRealPart) {
  const std::string text = lowered(
      "  user %x: complex64[2, 2]\n"
      "  %y: float64[2, 2] = aten.softmax.int(%x, 0, float64)\n"
      "  return %y\n");
  EXPECT_THAT(text, AllOf(HasSubstr("aten.softmax.int(%1, 0, float64)"), HasSubstr("%1: float32[2, 2]")));
}

// A decomposition that was written for real numbers must not drop the imaginary part.
TEST(LowerComplex, RejectsStepsInARealDtype) {
  EXPECT_THAT(lowered("  user %x: complex64[2, 2]\n"
                      "  %y: complex64[2, 2] = aten.lerp.Scalar(%x, %x, 0.5)\n"
                      "  %z: float32[2, 2] = aten.softmax.int(%y, 0)\n"
                      "  return %z\n"),
              HasSubstr("error: "));
}

TEST(LowerComplex, RejectsHostileTransforms) {
  const auto transform = [](const std::string& call) {
    return lowered("  user %x: float32[2, 8]\n  %y: complex64[2, 5] = " + call +
                   "\n  %z: float32[2, 5] = aten.real.default(%y)\n  return %z\n");
  };
  EXPECT_THAT(transform("aten.fft_rfft.default(%x, 0)"),
              HasSubstr("a transform of 0 numbers, expected at least 1"));
  EXPECT_THAT(transform("aten.fft_rfft.default(%x, none, 7)"), HasSubstr("dimension 7 is out of range"));
  EXPECT_THAT(transform("aten.fft_rfft.default(%x, norm=\"odd\")"),
              HasSubstr("norm 'odd', expected backward"));
  EXPECT_THAT(transform("aten.fft_rfft2.default(%x, [4])"),
              HasSubstr("argument 's' has 1 lengths for 2 dimensions"));
  EXPECT_THAT(transform("aten.stft.default(%x, 0)"), HasSubstr("frames of 0 every 0"));
}

}  // namespace
}  // namespace etb::passes
