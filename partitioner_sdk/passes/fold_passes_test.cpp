// SPDX-License-Identifier: Apache-2.0
// Passes that shrink the graph: constants, views of constants, batch norms, equal nodes.
#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/passes/fold_constants.hpp"
#include "partitioner_sdk/passes/formula.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using testing::after_pass;

TEST(MergeEqualNodes, OneOfEqualNodesStays) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %a: float32[2] = aten.add.Scalar(%x, 1)
  %b: float32[2] = aten.add.Scalar(%x, 1)
  %c: float32[2] = aten.add.Scalar(%x, 1.0)
  %d: float32[2] = aten.mul.Tensor(%a, %b)
  %e: float32[2] = aten.mul.Tensor(%d, %c)
  return %e
}
)",
                       merge_equal_nodes),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %a: float32[2] = aten.add.Scalar(%x, 1)
  %c: float32[2] = aten.add.Scalar(%x, 1.0)
  %d: float32[2] = aten.mul.Tensor(%a, %a)
  %e: float32[2] = aten.mul.Tensor(%d, %c)
  return %e
}
)");
}

TEST(MergeEqualNodes, WhatTheResultSaysAnywayMayBeLeftOpen) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
symbol s0 {2..16}

graph @forward {
  user %x: float32[s0]
  %a: int64[s0] = aten.arange.start_step(0, s0, layout=layout(strided), device=device("cpu"), pin_memory=false)
  %b: int64[s0] = aten.arange.start_step(0, s0)
  %c: int64[s0] = aten.arange.start_step(0, s0, dtype=int64)
  %d: int32[s0] = aten.arange.start_step(0, s0, dtype=int32)
  return %b, %c, %d
}
)",
                       merge_equal_nodes),
            R"(etg 1
module "m"
symbol s0 {2..16}

graph @forward {
  user %x: float32[s0]
  %a: int64[s0] = aten.arange.start_step(0, s0, layout=layout(strided), device=device("cpu"), pin_memory=false)
  %d: int32[s0] = aten.arange.start_step(0, s0, dtype=int32)
  return %a, %a, %d
}
)");
}

TEST(MergeEqualNodes, RandomNumbersAreNeverEqual) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  %a: float32[2] = aten.rand.default([2])
  %b: float32[2] = aten.rand.default([2])
  return %a, %b
}
)",
                       merge_equal_nodes),
            "unchanged");
}

// Replaces the kernels: fills every result with 7.
Result<std::vector<ir::OwnedBytes>> sevens(ir::Module& module) {
  std::vector<ir::OwnedBytes> out;
  for (const ir::Output& output : module.main().outputs) {
    const auto* ref = ir::get_if<ValueRef>(output.value);
    size_t count = 1;
    for (const Dim size : module.main().values[ref->id].spec.sizes)
      count *= static_cast<size_t>(size.value());
    const auto all = std::make_shared<const std::vector<float>>(count, 7.0f);
    out.push_back({std::as_bytes(std::span(*all)), all});
  }
  return out;
}

constexpr const char* kHalfConstant = R"(etg 1
module "m"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  user %x: float32[2]
  %a: float32[2] = aten.mul.Scalar(%w, 2)
  %b: float32[2] = aten.neg.default(%a)
  %c: float32[2] = aten.add.Tensor(%x, %b)
  return %c
}
)";

TEST(FoldConstants, ResultsTakeThePlaceOfTheirNodes) {
  EXPECT_EQ(after_pass(kHalfConstant, [](ir::Module& m) { return fold_constants(m, sevens); }),
            R"(etg 1
module "m"
constant "w": float32[2] = [1, 2]
constant "_folded_1_b": float32[2] = [7, 7]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  user %x: float32[2]
  constant %b: float32[2] = "_folded_1_b" as "_folded_1_b"
  %c: float32[2] = aten.add.Tensor(%x, %b)
  return %c
}
)");
}

TEST(FoldConstants, WhatCannotBeComputedStays) {
  const auto fail = [](ir::Module&) -> Result<std::vector<ir::OwnedBytes>> {
    return make_error(Code::OPERATOR_MISSING, "no kernel");
  };
  EXPECT_EQ(after_pass(kHalfConstant, [&](ir::Module& m) { return fold_constants(m, fail); }), "unchanged");
}

TEST(FoldConstants, AFileDoesNotGrow) {
  // The result would be 4 MB without an input; a buffer that changes is not a constant.
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
constant "b": float32[] = [1]

graph @forward {
  buffer %b: float32[] = "b" as "b"
  user %x: float32[1024, 1024]
  %a: float32[1024, 1024] = aten.full.default([1024, 1024], 1)
  %c: float32[1024, 1024] = aten.add.Tensor(%x, %a)
  %d: float32[] = aten.add.Scalar(%b, 1)
  return %d updates %b, %c
}
)",
                       [](ir::Module& m) { return fold_constants(m, sevens); }),
            "unchanged");
}

TEST(FoldConstantViews, APermutedWeightIsDescribedAnew) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
constant "w": float32[2, 3] = [1, 2, 3, 4, 5, 6]

graph @forward {
  parameter %w: float32[2, 3] = "w" as "w"
  user %x: float32[4, 3]
  %t: float32[3, 2] = aten.permute_copy.default(%w, [1, 0])
  %y: float32[4, 2] = aten.mm.default(%x, %t)
  return %y
}
)",
                       fold_constant_views),
            R"(etg 1
module "m"
constant "w": float32[2, 3] = [1, 2, 3, 4, 5, 6]
constant "w_view": float32[3, 2] order(1, 0) = [1, 4, 2, 5, 3, 6]

graph @forward {
  parameter %w: float32[2, 3] = "w" as "w"
  user %x: float32[4, 3]
  constant %t: float32[3, 2] = "w_view" as "w_view1"
  %y: float32[4, 2] = aten.mm.default(%x, %t)
  return %y
}
)");
}

TEST(FoldConstantViews, AWeightThatOthersReadTurnsTheProductInstead) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
constant "w": float32[50, 16] = ...

graph @forward {
  parameter %w: float32[50, 16] = "w" as "w"
  user %i: int64[3]
  %x: float32[3, 16] = aten.embedding.default(%w, %i)
  %t: float32[16, 50] = aten.permute_copy.default(%w, [1, 0])
  %y: float32[3, 50] = aten.mm.default(%x, %t)
  return %y
}
)",
                       fold_constant_views),
            R"(etg 1
module "m"
constant "w": float32[50, 16] = ...

graph @forward {
  parameter %w: float32[50, 16] = "w" as "w"
  user %i: int64[3]
  %x: float32[3, 16] = aten.embedding.default(%w, %i)
  %t: float32[16, 50] = aten.permute_copy.default(%w, [1, 0])
  %0: float32[16, 3] = aten.permute_copy.default(%x, [1, 0])
  %1: float32[50, 3] = aten.mm.default(%w, %0)
  %y: float32[3, 50] = aten.permute_copy.default(%1, [1, 0])
  return %y
}
)");
}

TEST(FoldBatchNorm, GoesIntoWeightAndBias) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
constant "w": float32[4, 3, 1, 1] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
constant "g": float32[4] = [1, 1, 1, 1]
constant "m": float32[4] = [1, 1, 1, 1]
constant "v": float32[4] = [1, 1, 1, 1]

graph @forward {
  parameter %w: float32[4, 3, 1, 1] = "w" as "w"
  parameter %g: float32[4] = "g" as "g"
  buffer %m: float32[4] = "m" as "m"
  buffer %v: float32[4] = "v" as "v"
  user %x: float32[1, 3, 2, 2]
  %c: float32[1, 4, 2, 2] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %y: float32[1, 4, 2, 2], %s: float32[0], %r: float32[0] = aten._native_batch_norm_legit_no_training.default(%c, %g, none, %m, %v, 0.1, 1e-05)
  return %y
}
)",
                       fold_batch_norm),
            R"(etg 1
module "m"
constant "w": float32[4, 3, 1, 1] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
constant "g": float32[4] = [1, 1, 1, 1]
constant "m": float32[4] = [1, 1, 1, 1]
constant "v": float32[4] = [1, 1, 1, 1]

graph @forward {
  parameter %w: float32[4, 3, 1, 1] = "w" as "w"
  parameter %g: float32[4] = "g" as "g"
  buffer %m: float32[4] = "m" as "m"
  buffer %v: float32[4] = "v" as "v"
  user %x: float32[1, 3, 2, 2]
  %c: float32[1, 4, 2, 2] = aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %0: float32[4] = aten.add.Scalar(%v, 1e-05)
  %1: float32[4] = aten.rsqrt.default(%0)
  %2: float32[4] = aten.mul.Tensor(%1, %g)
  %3: float32[4, 1, 1, 1] = aten.view_copy.default(%2, [4, 1, 1, 1])
  %4: float32[4, 3, 1, 1] = aten.mul.Tensor(%w, %3)
  %5: float32[4] = aten.neg.default(%m)
  %6: float32[4] = aten.mul.Tensor(%5, %2)
  %y: float32[1, 4, 2, 2] = aten.convolution.default(%x, %4, %6, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  return %y
}
)");
}

std::string after_formula(const std::string& formula) {
  DecomposeOptions options;
  options.formulas["aten.relu.default"] = formula;
  return after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.relu.default(%x)
  return %y
}
)",
                    [&](ir::Module& m) { return decompose(m, options); });
}

TEST(Formula, TakesApartAnOpAsTheCallerSays) {
  EXPECT_EQ(after_formula("t = gt.Scalar(self, 0); mul(self, to.dtype(t, dtype_of(self)))"),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %0: bool[2] = aten.gt.Scalar(%x, 0)
  %1: float32[2] = aten._to_copy.default(%0, dtype=float32)
  %y: float32[2] = aten.mul.Tensor(%x, %1)
  return %y
}
)");
}

TEST(Formula, SaysWhatIsWrong) {
  EXPECT_EQ(after_formula("mul(self, y)"),
            "error: aten.relu.default: formula, character 11: 'y' is neither an argument of the op nor "
            "defined before");
  EXPECT_EQ(after_formula("no_such_op(self)"),
            "error: aten.relu.default: formula, character 16: unknown op 'aten.no_such_op.default'");
  EXPECT_EQ(after_formula("neg(self"),
            "error: aten.relu.default: formula, character 8: expected an expression");
  EXPECT_EQ(after_formula("neg(self) x"),
            "error: aten.relu.default: formula, character 10: unexpected text after the last expression");
}

TEST(Formula, EveryRowOfTheTableCanBeRead) {
  std::string_view last;
  for (const Formula& row : formula_table()) {
    EXPECT_LT(last, row.op) << "the table is searched by op";
    EXPECT_NE(ops::find_schema(row.op), nullptr) << row.op;
    last = row.op;
  }
}

}  // namespace
}  // namespace etb::passes
