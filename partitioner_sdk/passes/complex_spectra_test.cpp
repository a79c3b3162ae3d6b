// SPDX-License-Identifier: Apache-2.0
// Ops of complex matrices by eigenvalues and singular values, norms, and random complex numbers.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string lowered(const std::string& body) { return testing::after_pass_of_graph(body, lower_complex); }

TEST(ComplexSpectra, TolerancesOfRanksAreReal) {
  const std::string text = lowered(
      "  user %a: complex128[4, 3]\n"
      "  %r: int64[] = aten.linalg_matrix_rank.atol_rtol_float(%a, atol=0.5)\n"
      "  return %r\n");
  EXPECT_THAT(text, AllOf(HasSubstr("aten._linalg_svd.default(%a, compute_uv=false)"),
                          ContainsRegex("float64\\[\\] = aten.(scalar_tensor|full).default"),
                          Not(HasSubstr("complex128[] ="))));
}

TEST(ComplexSpectra, PseudoInversesReadConjugateTransposes) {
  EXPECT_THAT(lowered("  user %a: complex64[4, 3]\n"
                      "  %x: complex64[3, 4] = aten.linalg_pinv.atol_rtol_float(%a)\n"
                      "  return %x\n"),
              AllOf(HasSubstr("aten._linalg_svd.default(%a)"), HasSubstr("aten.neg.default")));
}

TEST(ComplexSpectra, TheOldNameOfEigenvaluesHasTheKernelOfTheNew) {
  EXPECT_THAT(lowered("  user %a: complex64[3, 3]\n"
                      "  %x: complex64[3] = aten._linalg_eigvals.default(%a)\n"
                      "  return %x\n"),
              HasSubstr("aten.linalg_eigvals.default(%a)"));
}

TEST(ComplexSpectra, NormsAreReal) {
  for (const char* order : {"fro", "nuc"})
    for (const char* sizes : {"3, 2", "0, 2"}) {
      const std::string text = lowered(std::string("  user %a: complex64[") + sizes +
                                       "]\n  %x: float32[] = aten.linalg_matrix_norm.str_ord(%a, \"" + order +
                                       "\", [0, 1])\n  return %x\n");
      EXPECT_THAT(text, HasSubstr("%x: float32[] = ")) << order << " of " << sizes;
    }
}

}  // namespace
}  // namespace etb::passes
