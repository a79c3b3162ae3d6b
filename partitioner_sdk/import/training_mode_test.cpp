// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/training_mode.hpp"

#include <gmock/gmock.h>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::pt2 {
namespace {

using testing::HasSubstr;

std::string describe(const std::string& nodes, bool has_gradients = false) {
  auto module = ir::parse("etg 1\nmodule \"m\"\n\ngraph @forward {\n  user %x: float32[2, 3]\n" + nodes +
                          "  return %y\n}\n");
  EXPECT_TRUE(module) << module.error().message;
  if (!module) return {};
  if (has_gradients) module->training = ir::TrainingOutputs{};
  return describe_training_mode(*module);
}

TEST(TrainingMode, NamesOpsThatBehaveAsInTraining) {
  EXPECT_THAT(describe("  %a: float32[2, 3] = aten.dropout.default(%x, 0.5, true)\n"
                       "  %b: float32[2, 3] = aten.dropout.default(%a, 0.5, true)\n"
                       "  %y: float32[2, 3] = aten.rrelu.default(%b, 0.1, 0.3, true)\n"),
              HasSubstr("training mode (2 x aten.dropout.default, 1 x aten.rrelu.default)"));
  EXPECT_THAT(describe("  %y: float32[2, 3] = aten.batch_norm.default(%x, none, none, none, none, true, 0.1, "
                       "1e-5, true)\n"),
              HasSubstr("1 x aten.batch_norm.default"));
  EXPECT_THAT(
      describe("  %y: float32[2, 3] = aten.scaled_dot_product_attention.default(%x, %x, %x, none, 0.1)\n"),
      HasSubstr("call model.eval() before torch.export"));
}

TEST(TrainingMode, SaysNothingWhereNothingIsRandom) {
  EXPECT_EQ(describe("  %a: float32[2, 3] = aten.dropout.default(%x, 0.5, false)\n"
                     "  %y: float32[2, 3] = aten.dropout.default(%a, 0.0, true)\n"),
            "");
  EXPECT_EQ(describe("  %y: float32[2, 3] = aten.dropout.default(%x, 0.5, true)\n", true), "");
}

}  // namespace
}  // namespace etb::pt2
