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

TEST(ComplexLinalg, FactorisationsPassComplexTensorsOn) {
  EXPECT_EQ(lowered("  user %a: complex64[3, 3]\n"
                    "  user %b: complex64[3, 2]\n"
                    "  %x: complex64[3, 2] = aten.linalg_solve.default(%a, %b)\n"
                    "  return %x\n"),
            "etg 1\nmodule \"m\"\n\ngraph @forward {\n"
            "  user %a: complex64[3, 3]\n"
            "  user %b: complex64[3, 2]\n"
            "  %0: complex64[3, 3], %1: int32[3], %2: int32[] = aten.linalg_lu_factor_ex.default(%a, "
            "check_errors=true)\n"
            "  %x: complex64[3, 2] = aten.linalg_lu_solve.default(%0, %1, %b)\n"
            "  return %x\n}\n");
}

TEST(ComplexLinalg, ResultsMayBeReal) {
  const std::string text = lowered(
      "  user %a: complex128[4, 3]\n"
      "  %u: complex128[4, 3], %s: float64[3], %v: complex128[3, 3] = aten.linalg_svd.default(%a, false)\n"
      "  %y: float64[3] = aten.exp.default(%s)\n"
      "  return %u, %y, %v\n");
  EXPECT_THAT(text, AllOf(HasSubstr("aten._linalg_svd.default(%a)"), HasSubstr(": float64[3]"),
                          HasSubstr("aten.exp.default"), Not(HasSubstr("aten.complex"))));
}

TEST(ComplexLinalg, ARealOperandBecomesComplex) {
  EXPECT_THAT(lowered("  user %a: float32[3, 3]\n"
                      "  user %b: complex64[3, 2]\n"
                      "  %x: complex64[3, 2] = aten.linalg_solve_triangular.default(%a, %b, upper=true)\n"
                      "  return %x\n"),
              AllOf(HasSubstr("%1: complex64[3, 3] = aten.complex.default(%a, %0)"),
                    HasSubstr("aten.linalg_solve_triangular.default(%1, %b, upper=true")));
}

TEST(ComplexLinalg, EigenvaluesOfRealMatricesAreComplex) {
  EXPECT_THAT(
      lowered("  user %a: float32[2, 3, 3]\n"
              "  %x: complex64[2, 3] = aten.linalg_eigvals.default(%a)\n"
              "  %y: float32[2, 3] = aten.abs.default(%x)\n"
              "  return %y\n"),
      AllOf(HasSubstr("complex64[2, 3] = aten.linalg_eigvals.default(%a)"), HasSubstr("aten.hypot.default")));
}

TEST(ComplexLinalg, CholeskySystemsReadTheConjugateTranspose) {
  EXPECT_THAT(lowered("  user %l: complex64[3, 3]\n"
                      "  user %b: complex64[3, 2]\n"
                      "  %x: complex64[3, 2] = aten.cholesky_solve.default(%b, %l)\n"
                      "  return %x\n"),
              AllOf(HasSubstr("aten.linalg_solve_triangular.default(%l, %b, upper=false"),
                    HasSubstr("aten.neg.default")));
}

}  // namespace
}  // namespace etb::passes
