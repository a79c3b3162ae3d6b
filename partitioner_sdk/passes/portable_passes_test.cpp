// SPDX-License-Identifier: Apache-2.0
// Passes for the portable kernels (row_major, lower_affine), each on the text of a small graph.
#include <gmock/gmock.h>

#include <algorithm>

#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using testing::after_pass;

// The caller's tensor keeps its exported order; a weight gets new strides.
TEST(RowMajor, TheCallersTensorIsCopied) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[1, 3, 2, 2] order(0, 2, 3, 1)
  %r: float32[1, 3, 2, 2] order(0, 2, 3, 1) = aten.relu.default(%x)
  %c: float32[1, 3, 2, 2] order(0, 2, 3, 1) = dim_order_ops._clone_dim_order.default(%r, dim_order=[0, 2, 3, 1])
  return %c
}
)",
                       make_row_major),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[1, 3, 2, 2] order(0, 2, 3, 1)
  %x.1: float32[1, 3, 2, 2] = dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 1, 2, 3])
  %r: float32[1, 3, 2, 2] = aten.relu.default(%x.1)
  %c: float32[1, 3, 2, 2] = dim_order_ops._clone_dim_order.default(%r, dim_order=[0, 1, 2, 3])
  return %c
}
)");
}

TEST(RowMajor, ACopyTakesAnyOrder) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[1, 3, 2, 2] order(0, 2, 3, 1)
  %c: float32[1, 3, 2, 2] = dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 1, 2, 3])
  return %c
}
)",
                       make_row_major),
            "unchanged");
}

TEST(LowerAffine, DequantisationOfGroupsIsArithmetic) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %q: int8[2, 4]
  user %s: float32[2, 2]
  user %z: int8[2, 2]
  %w: float32[2, 4] = torchao.dequantize_affine.default(%q, [1, 2], %s, %z, int8, -8, 7)
  return %w
}
)",
                       lower_affine),
            R"(etg 1
module "m"

graph @forward {
  user %q: int8[2, 4]
  user %s: float32[2, 2]
  user %z: int8[2, 2]
  %0: int8[2, 2, 2] = aten.view_copy.default(%q, [2, 2, 2])
  %1: float32[2, 2, 1] = aten.view_copy.default(%s, [2, 2, 1])
  %2: float32[2, 2, 2] = dim_order_ops._to_dim_order_copy.default(%0, dtype=float32, dim_order=[0, 1, 2])
  %3: int8[2, 2, 1] = aten.view_copy.default(%z, [2, 2, 1])
  %4: float32[2, 2, 1] = dim_order_ops._to_dim_order_copy.default(%3, dtype=float32, dim_order=[0, 1, 2])
  %5: float32[2, 2, 2] = aten.sub.Tensor(%2, %4)
  %6: float32[2, 2, 2] = aten.mul.Tensor(%5, %1)
  %w: float32[2, 4] = aten.view_copy.default(%6, [2, 4])
  return %w
}
)");
}

TEST(Pipeline, SizesWhoseProductNoFileHasAreRefused) {
  auto module = ir::parse(R"(etg 1
module "m"

graph @forward {
  user %x: float32[4611686018427387904, 8] strides(8, 1)
  %y: float32[8, 4611686018427387904] strides(1, 8) = aten.permute.default(%x, [1, 0])
  return %y
}
)");
  ASSERT_TRUE(module) << module.error().message;
  const Status refused = to_edge(*module);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::INVALID_DATA) << refused.error().message;
}

TEST(Pipeline, RunsTheCallersPassesWhereTheySay) {
  auto module = ir::parse(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.silu.default(%x)
  return %y
}
)");
  ASSERT_TRUE(module) << module.error().message;
  std::vector<std::string> seen;
  PipelineOptions options;
  options.after_pass = [&](std::string_view name, ir::Module&) { seen.emplace_back(name); };
  size_t count_before = 0, count_after = 0;
  options.custom_passes = {{"functionalize", "count",
                            [&](ir::Module& m) -> Result<bool> {
                              count_before = m.main().nodes.size();
                              return false;
                            }},
                           {"decompose", "relu_for_sigmoid", [&](ir::Module& m) -> Result<bool> {
                              count_after = m.main().nodes.size();
                              m.main().nodes[0].op = m.op("aten.relu.default");
                              return true;
                            }}};
  ASSERT_TRUE(to_edge(*module, options));
  EXPECT_EQ(count_before, 1u);
  EXPECT_EQ(count_after, 2u);
  EXPECT_EQ(module->op(module->main().nodes[0]).name, "aten.relu.default");
  const auto functionalized = std::find(seen.begin(), seen.end(), "functionalize");
  ASSERT_LT(functionalized + 1, seen.end());
  EXPECT_EQ(functionalized[1], "count");
  options.custom_passes = {{"decompose", "refuses", [](ir::Module&) -> Result<bool> {
                              return make_error(Code::NOT_SUPPORTED, "not today");
                            }}};
  const Status refused = to_edge(*module, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("refuses: not today"));
}

}  // namespace
}  // namespace etb::passes
