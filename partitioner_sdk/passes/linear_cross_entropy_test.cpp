// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string decomposed(const std::string& reduction, const std::string& sizes, const std::string& flags) {
  return testing::after_pass(
      "etg 1\nmodule \"m\"\n\ngraph @forward {\n  user %x: float32[4, 3]\n  user %w: float32[5, 3]\n"
      "  user %t: int64[4]\n  [%l: float32[], " +
          sizes + "] = torch_nn._linear_cross_entropy_batch_chunked.default(%x, %w, %t, none, none, \"" +
          reduction + "\", -100, 0.0, 2, \"compact\", float32, true, " + flags +
          ")\n  return %l, %a, %b, %c\n}\n",
      [](ir::Module& m) { return decompose(m); });
}

TEST(LinearCrossEntropy, IsALayerAndALoss) {
  const std::string text =
      decomposed("mean", "%a: float32[0, 0], %b: float32[0, 0], %c: float32[0]", "false, false, false");
  EXPECT_THAT(text, AllOf(HasSubstr("aten.mm.default(%x"), HasSubstr("aten._log_softmax"),
                          HasSubstr("%a: float32[0, 0] = aten.full.default"), Not(HasSubstr("torch_nn"))));
}

TEST(LinearCrossEntropy, GradientsAreProductsOfTheLossesSlope) {
  const std::string text =
      decomposed("sum", "%a: float32[4, 3], %b: float32[5, 3], %c: float32[5]", "true, true, true");
  EXPECT_THAT(text, AllOf(HasSubstr("%a: float32[4, 3] = aten.mm.default"),
                          HasSubstr("%b: float32[5, 3] = aten.mm.default"),
                          HasSubstr("%c: float32[5] = aten.sum.dim_IntList")));
}

TEST(LinearCrossEntropy, RejectsOtherReductions) {
  EXPECT_THAT(
      decomposed("none", "%a: float32[0, 0], %b: float32[0, 0], %c: float32[0]", "false, false, false"),
      HasSubstr("reduction 'none' of an input of rank 2, expected mean or sum"));
}

}  // namespace
}  // namespace etb::passes
