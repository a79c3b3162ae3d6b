// SPDX-License-Identifier: Apache-2.0
// decompose_einsum: operands of different types.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::HasSubstr;

// Rotary embeddings multiply integer positions by float frequencies.
TEST(Einsum, OperandsOfTwoTypesAreConverted) {
  const auto after = [](const std::string& graph) {
    return testing::after_pass_of_graph(graph, [](ir::Module& m) { return decompose(m); });
  };
  for (const std::string equation : {"\"i,j->ij\", [%n, %x]", "\"j,i->ij\", [%x, %n]"}) {
    const std::string text =
        after("  user %n: int64[2]\n  user %x: float32[8]\n  %y: float32[2, 8] = aten.einsum.default(" +
              equation + ")\n  return %y\n");
    EXPECT_THAT(text, HasSubstr("aten._to_copy.default(")) << equation;
    EXPECT_THAT(text, HasSubstr("aten.bmm.default(")) << equation;
  }
}

}  // namespace
}  // namespace etb::passes
