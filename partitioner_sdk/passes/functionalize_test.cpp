// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/passes.hpp"

#include <gmock/gmock.h>

#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

std::string functional(const std::string& text) { return testing::after_pass(text, functionalize); }

TEST(Functionalize, AViewTakenBeforeAWriteSeesIt) {
  EXPECT_EQ(functional(R"(etg 1
module "m"
constant "count": float32[3] = [0, 0, 0]

graph @forward {
  buffer %b_count: float32[3] = "count" as "count"
  user %x: float32[2]
  %first: float32[2] = aten.slice.Tensor(%b_count, start=0, end=2)
  %add_: float32[3] = aten.add_.Tensor(%b_count, 1.0)
  %sum: float32[2] = aten.add.Tensor(%first, %x)
  return %sum, %add_
}
)"),
            R"(etg 1
module "m"
constant "count": float32[3] = [0, 0, 0]

graph @forward {
  buffer %b_count: float32[3] = "count" as "count"
  user %x: float32[2]
  %first: float32[2] = aten.slice.Tensor(%b_count, start=0, end=2)
  %b_count.1: float32[3] = aten.add.Tensor(%b_count, 1.0)
  %first.1: float32[2] = aten.slice.Tensor(%b_count.1, start=0, end=2)
  %sum: float32[2] = aten.add.Tensor(%first.1, %x)
  return %b_count.1 updates %b_count, %sum, %b_count.1
}
)");
}

TEST(Functionalize, AWriteThroughViewsReachesTheBase) {
  EXPECT_EQ(functional(R"(etg 1
module "m"
constant "table": float32[2, 3] = [0, 1, 2, 3, 4, 5]

graph @forward {
  buffer %b: float32[2, 3] = "table" as "table"
  user %x: float32[2]
  %row: float32[3] = aten.select.int(%b, 0, 1)
  %part: float32[2] order(0) = aten.slice.Tensor(%row, start=1, end=3)
  %mul_: float32[2] = aten.mul_.Tensor(%part, %x)
  %total: float32[3] = aten.sum.dim_IntList(%b, [0])
  return %total, %row
}
)"),
            R"(etg 1
module "m"
constant "table": float32[2, 3] = [0, 1, 2, 3, 4, 5]

graph @forward {
  buffer %b: float32[2, 3] = "table" as "table"
  user %x: float32[2]
  %row: float32[3] = aten.select.int(%b, 0, 1)
  %part: float32[2] = aten.slice.Tensor(%row, start=1, end=3)
  %0: float32[2] = aten.mul.Tensor(%part, %x)
  %1: float32[3] = aten.slice_scatter.default(%row, %0, start=1, end=3)
  %b.1: float32[2, 3] = aten.select_scatter.default(%b, %1, 0, 1)
  %total: float32[3] = aten.sum.dim_IntList(%b.1, [0])
  return %b.1 updates %b, %total, %1
}
)");
}

TEST(Functionalize, UserInputsThatAreWrittenBecomeOutputs) {
  EXPECT_EQ(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %t: float32[2] = aten.view.default(%x, [2])
  %add_: float32[2] = aten.add_.Tensor(%t, 1)
  return %x
}
)"),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %t: float32[2] = aten.view.default(%x, [2])
  %0: float32[2] = aten.add.Tensor(%t, 1)
  %x.1: float32[2] = aten.view.default(%0, [2])
  return %x.1 updates %x, %x.1
}
)");
}

TEST(Functionalize, WhatIsStoredKeepsItsDtype) {
  EXPECT_THAT(functional(R"(etg 1
module "m"

graph @forward {
  user %x: int8[2]
  user %y: int64[2]
  %c: int8[2] = aten.clone.default(%x)
  %add_: int8[2] = aten.add_.Tensor(%c, %y)
  return %add_
}
)"),
              ::testing::HasSubstr(R"(  %0: int64[2] = aten.add.Tensor(%c, %y)
  %c.1: int8[2] = aten._to_copy.default(%0, dtype=int8)
  return %c.1
)"));
}

// An attribute without register_buffer: the exporter calls it a constant although the model writes to it.
TEST(Functionalize, AConstantThatIsWrittenIsABuffer) {
  EXPECT_THAT(functional(R"(etg 1
module "m"
constant "count": int64[] = [0]

graph @forward {
  constant %c: int64[] = "count" as "count"
  %n: int64[] = aten.add_.Tensor(%c, 1)
  return %n
}
)"),
              ::testing::HasSubstr(R"(buffer %c: int64[] = "count" as "count"
  %c.1: int64[] = aten.add.Tensor(%c, 1)
  return %c.1 updates %c, %c.1)"));
}

TEST(Functionalize, AFillOfOneElementOfACopyLeavesTheOriginal) {
  EXPECT_THAT(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[3]
  %c: float32[3] = aten.clone.default(%x)
  %e: float32[] = aten.select.int(%c, 0, 0)
  %f: float32[] = aten.fill_.Scalar(%e, 7)
  return %c, %x
}
)"),
              ::testing::HasSubstr(R"(  %0: float32[] = aten.fill.Scalar(%e, 7)
  %c.1: float32[3] = aten.select_scatter.default(%c, %0, 0, 0)
  return %c.1, %x
)"));
}

TEST(Functionalize, PartsOfASplitAreWrittenBackToTheirPlace) {
  EXPECT_THAT(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[5]
  %c: float32[5] = aten.clone.default(%x)
  [%a: float32[2], %b: float32[3]] = aten.split_with_sizes.default(%c, [2, 3])
  %r: float32[3] = aten.relu_.default(%b)
  return %c
}
)"),
              ::testing::HasSubstr(R"(  %0: float32[3] = aten.relu.default(%b)
  %c.1: float32[5] = aten.slice_scatter.default(%c, %0, start=2, end=5)
  return %c.1
)"));
}

TEST(Functionalize, AReshapeThatCopiesIsNoView) {
  EXPECT_THAT(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %t: float32[3, 2] order(1, 0) = aten.permute.default(%x, [1, 0])
  %flat: float32[6] = aten.reshape.default(%t, [6])
  %r: float32[6] = aten.relu_.default(%flat)
  return %x, %r
}
)"),
              ::testing::HasSubstr("return %x, %flat.1\n"));
}

TEST(Functionalize, ABatchNormInTrainingWritesItsStatistics) {
  EXPECT_THAT(
      functional(R"(etg 1
module "m"
constant "mean": float32[2] = [0, 0]
constant "var": float32[2] = [1, 1]

graph @forward {
  buffer %mean: float32[2] = "mean" as "mean"
  buffer %var: float32[2] = "var" as "var"
  user %x: float32[3, 2]
  %y: float32[3, 2] = aten.batch_norm.default(%x, none, none, %mean, %var, true, 0.1, 1e-05, false)
  return %y
}
)"),
      ::testing::AllOf(::testing::HasSubstr("aten.batch_norm.default(%x"),
                       ::testing::HasSubstr(" updates %mean"), ::testing::HasSubstr(" updates %var")));
}

TEST(Functionalize, AResizeChangesSizes) {
  EXPECT_THAT(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[6]
  %c: float32[6] = aten.clone.default(%x)
  %r: float32[2, 2] = aten.resize_.default(%c, [2, 2])
  return %r
}
)"),
              ::testing::HasSubstr("float32[2, 2] = aten.resize.default(%c, [2, 2])"));
}

TEST(Functionalize, AFunctionalGraphStaysAsItIs) {
  EXPECT_EQ(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.relu.default(%x)
  return %y
}
)"),
            "unchanged");
}

TEST(Functionalize, AnOpThatChangesSizesInPlaceLeavesOlderViews) {
  EXPECT_EQ(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %y: float32[2, 3] = aten.relu.default(%x)
  %flat: float32[6] = aten.view.default(%y, [6])
  %turned: float32[3, 2] order(1, 0) = aten.t_.default(%y)
  %more: float32[3, 2] order(1, 0) = aten.add_.Tensor(%y, 1.0)
  return %y, %flat
}
)"),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %y: float32[2, 3] = aten.relu.default(%x)
  %flat: float32[6] = aten.view.default(%y, [6])
  %turned: float32[3, 2] order(1, 0) = aten.t.default(%y)
  %0: float32[3, 2] order(1, 0) = aten.add.Tensor(%turned, 1.0)
  %y.1: float32[2, 3] = aten.t.default(%0)
  %flat.1: float32[6] = aten.view.default(%y.1, [6])
  return %0, %flat.1
}
)");
}

TEST(Functionalize, WritesThroughPartsOfEachKindReachTheBase) {
  const std::string text = functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[3, 3]
  %y: float32[3, 3] = aten.relu.default(%x)
  %middle: float32[3, 1] order(0, 1) = aten.narrow.default(%y, 1, 1, 1)
  %0: float32[3, 1] order(0, 1) = aten.zero_.default(%middle)
  %diagonal: float32[3] = aten.diagonal.default(%y)
  %1: float32[3] = aten.fill_.Scalar(%diagonal, 2.0)
  %rows: float32[3], %second: float32[3], %third: float32[3] = aten.unbind.int(%y)
  %2: float32[3] = aten.mul_.Scalar(%third, 3.0)
  return %y
}
)");
  EXPECT_THAT(text, ::testing::HasSubstr("aten.slice_scatter.default(%y, %0, 1, 1, 2)")) << text;
  EXPECT_THAT(text, ::testing::HasSubstr("aten.diagonal_scatter.default(")) << text;
  EXPECT_THAT(text, ::testing::HasSubstr("aten.select_scatter.default(")) << text;
}

TEST(Functionalize, ManyWritesTakeLinearTime) {
  std::string text =
      "etg 1\nmodule \"m\"\nconstant \"c\": float32[2] = [0, 0]\ngraph @forward {\n"
      "  buffer %b: float32[2] = \"c\" as \"c\"\n";
  for (int i = 0; i < 20000; ++i) {
    text += "  %v" + std::to_string(i) + ": float32[2] = aten.view.default(%b, [2])\n";
    text += "  %w" + std::to_string(i) + ": float32[2] = aten.add_.Tensor(%v" + std::to_string(i) + ", 1)\n";
  }
  EXPECT_THAT(functional(text + "  return %b\n}\n"), ::testing::HasSubstr(" updates %b"));
}

using ::testing::HasSubstr;

TEST(Functionalize, APairMayHaveTheSuffixFunctional) {
  EXPECT_THAT(functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.clone.default(%x)
  %z: float32[2] = aten.normal_.default(%y, 1.0, 2.0)
  return %z
}
)"),
              HasSubstr("aten.normal_functional.default(%y, 1.0, 2.0)"));
}

// The signature does not say that these ops write. num_batches_tracked is a write of its own.
TEST(Functionalize, NormsInTrainingUpdateTheirStatistics) {
  const auto after = [](const std::string& node, const std::string& sizes) {
    return functional(R"(etg 1
module "m"
constant "mean": float32[3] = [0, 0, 0]

graph @forward {
  buffer %mean: float32[3] = "mean" as "mean"
  buffer %variance: float32[3] = "mean" as "variance"
  user %x: float32)" + sizes +
                      "\n  %y: float32" + sizes + " = " + node + "\n  return %y\n}\n");
  };
  const std::string batch = after(
      "aten.batch_norm.default(%x, none, none, %mean, %variance, true, 0.25, 1e-05, false)", "[2, 3, 5]");
  EXPECT_THAT(batch, HasSubstr("aten.mean.dim(%x, [0, 2])"));
  EXPECT_THAT(batch, HasSubstr("aten.var.correction(%x, [0, 2], correction=1)"));
  EXPECT_THAT(batch,
              HasSubstr("aten.batch_norm.default(%x, none, none, none, none, true, 0.25, 1e-05, false)"));
  EXPECT_THAT(batch, HasSubstr(" updates %mean, "));
  EXPECT_THAT(batch, HasSubstr(" updates %variance, %y"));
  // Statistics of each image, then their mean.
  const std::string instance = after(
      "aten.instance_norm.default(%x, none, none, %mean, %variance, true, 0.25, 1e-05, false)", "[2, 3, 5]");
  EXPECT_THAT(instance, HasSubstr("float32[2, 3] = aten.mean.dim(%x, [2])"));
  EXPECT_THAT(instance, HasSubstr(" updates %variance, %y"));
  for (const std::string& kept :
       {after("aten.batch_norm.default(%x, none, none, %mean, %variance, false, 0.25, 1e-05, false)",
              "[2, 3, 5]"),
        after("aten.batch_norm.default(%x, none, none, %mean, %variance, true, 0.25, 1e-05, false)",
              "[0, 3, 5]")})
    EXPECT_THAT(kept, ::testing::Not(HasSubstr("updates")));
}

// torch.maximum(x, y, out=part): the given tensor, and what it views, have the result from here on.
TEST(Functionalize, AResultInAGivenTensorIsAWriteToIt) {
  const auto after = [](const std::string& node, const std::string& sizes) {
    return functional(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  user %y: float32[2]
  user %table: float32)" +
                      sizes +
                      R"(
  %copy: float32)" + sizes +
                      R"( = aten.clone.default(%table)
  %part: float32[2] = aten.select.int(%copy, 0, 1)
  %made: float32[2] = )" +
                      node + R"(
  %sum: float32[2] = aten.add.Tensor(%made, %part)
  return %sum, %copy
}
)");
  };
  const std::string after_maximum = after("aten.maximum.out(%x, %y, out=%part)", "[3, 2]");
  EXPECT_THAT(after_maximum, HasSubstr("%0: float32[2] = aten.maximum.default(%x, %y)"));
  EXPECT_THAT(after_maximum,
              HasSubstr("%copy.1: float32[3, 2] = aten.select_scatter.default(%copy, %0, 0, 1)"));
  EXPECT_THAT(after_maximum, HasSubstr("%sum: float32[2] = aten.add.Tensor(%0, %0)"));
  EXPECT_THAT(after_maximum, ::testing::Not(HasSubstr("return %sum, %copy\n")));
  EXPECT_THAT(after("aten.add.out(%x, %y, alpha=2, out=%part)", "[3, 2]"),
              HasSubstr("= aten.add.Tensor(%x, %y, alpha=2)"));
  // A result of another type is converted.
  EXPECT_THAT(after("aten.eq.Tensor_out(%x, %y, out=%part)", "[3, 2]"), HasSubstr("aten._to_copy.default("));
  EXPECT_THAT(after("aten.maximum.out(%x, %y, out=%table)", "[2, 2]"),
              HasSubstr("other sizes than the result"));
}

}  // namespace
}  // namespace etb::passes
