// SPDX-License-Identifier: Apache-2.0
// additive_masks, row_updates, views_to_copies, scalars_to_tensors, dim_order_ops, remove_dead_code: each on the text of a small graph.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/passes/formula.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using testing::after_pass;
using ::testing::HasSubstr;

TEST(BatchVmaps, ElementwiseOpsGetTheBatchInFront) {
  EXPECT_EQ(testing::after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[3, 4]
  user %y: float32[4]
  %row: float32[3] = higher_order.add_batch_dim.default(%x, 1, 1)
  %one: float32[] = higher_order.add_batch_dim.default(%y, 0, 1)
  %sum: float32[3] = aten.add.Tensor(%row, %one)
  %out: float32[3, 4] = higher_order.remove_batch_dim.default(%sum, 1, 4, -1)
  return %out
}
)",
                                batch_vmaps),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[3, 4]
  user %y: float32[4]
  %0: float32[4, 3] order(1, 0) = aten.permute.default(%x, [1, 0])
  %1: float32[4, 1] = aten.unsqueeze.default(%y, 1)
  %2: float32[4, 3] order(1, 0) = aten.add.Tensor(%0, %1)
  %out: float32[3, 4] = aten.permute.default(%2, [1, 0])
  return %out
}
)");
}

TEST(BatchVmaps, OtherOpsAreRejectedByName) {
  EXPECT_THAT(testing::after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[3, 4]
  %row: float32[4] = higher_order.add_batch_dim.default(%x, 0, 1)
  %sum: float32[] = aten.sum.default(%row)
  %out: float32[3] = higher_order.remove_batch_dim.default(%sum, 1, 3, 0)
  return %out
}
)",
                                  batch_vmaps),
              ::testing::HasSubstr("aten.sum.default inside of vmap, expected an elementwise op"));
}

TEST(ViewsToCopies, ViewsBecomeCopiesAndStridesFollow) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %p: float32[3, 2] order(1, 0) = aten.permute.default(%x, [1, 0])
  %r: float32[3, 2] order(1, 0) = aten.relu.default(%p)
  return %r
}
)",
                       views_to_copies),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %p: float32[3, 2] = aten.permute_copy.default(%x, [1, 0])
  %r: float32[3, 2] = aten.relu.default(%p)
  return %r
}
)");
}

TEST(ViewsToCopies, ChannelsLastIsKept) {
  EXPECT_THAT(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[1, 3, 2, 2] order(0, 2, 3, 1)
  %r: float32[1, 3, 2, 2] = aten.relu.default(%x)
  %p: float32[1, 3, 1, 1] = aten.max_pool2d_with_indices.default(%r, [2, 2])
  return %r
}
)",
                         [](ir::Module& m) {
                           auto changed = views_to_copies(m);
                           if (changed) *changed = true;
                           m.main().nodes.pop_back();
                           return changed;
                         }),
              HasSubstr("%r: float32[1, 3, 2, 2] order(0, 2, 3, 1) = aten.relu.default(%x)"));
}

TEST(AdditiveMasks, BoolsBecomeWhatIsAddedToScores) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %q: float32[1, 2, 3]
  user %m: bool[3, 3]
  user %f: float32[3, 3]
  %a: float32[1, 2, 3] = aten.scaled_dot_product_attention.default(%q, %q, %q, %m)
  %b: float32[1, 2, 3] = aten.scaled_dot_product_attention.default(%a, %a, %a, %f)
  %c: float32[1, 2, 3] = aten.scaled_dot_product_attention.default(%b, %b, %b, none, 0.0, true)
  return %c
}
)",
                       make_masks_additive),
            R"(etg 1
module "m"

graph @forward {
  user %q: float32[1, 2, 3]
  user %m: bool[3, 3]
  user %f: float32[3, 3]
  %0: float32[] = aten.scalar_tensor.default(-inf, dtype=float32, layout=layout(strided), device=device("cpu"))
  %1: float32[] = aten.scalar_tensor.default(0.0, dtype=float32, layout=layout(strided), device=device("cpu"))
  %2: float32[3, 3] = aten.where.self(%m, %1, %0)
  %a: float32[1, 2, 3] = aten.scaled_dot_product_attention.default(%q, %q, %q, %2)
  %b: float32[1, 2, 3] = aten.scaled_dot_product_attention.default(%a, %a, %a, %f)
  %c: float32[1, 2, 3] = aten.scaled_dot_product_attention.default(%b, %b, %b, is_causal=true)
  return %c
}
)");
}

TEST(AdditiveMasks, CausalOverSizesThatChangeIsAMask) {
  const std::string text = after_pass(R"(etg 1
module "m"
symbol s0 {2..16}

graph @forward {
  user %q: float32[1, s0, 3]
  %a: float32[1, s0, 3] = aten.scaled_dot_product_attention.default(%q, %q, %q, none, 0.0, true)
  return %a
}
)",
                                      make_masks_additive);
  EXPECT_THAT(text, HasSubstr("bool[s0, s0] = aten.le.Tensor("));
  EXPECT_THAT(text, HasSubstr("float32[s0, s0] = aten.where.self("));
  EXPECT_THAT(text, HasSubstr("aten.scaled_dot_product_attention.default(%q, %q, %q, %6)\n"));
}

TEST(RowUpdates, ValuesGetTheRankOfWhatTheyAreWrittenTo) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %c: float32[1, 2, 8, 4]
  user %i: int64[3]
  user %v: float32[2, 3, 4]
  user %s: float32[]
  user %w: float32[1, 2, 3, 4]
  %a: float32[1, 2, 8, 4] = aten.index_put.default(%c, [none, none, %i], %v)
  %b: float32[1, 2, 8, 4] = aten.index_put.default(%a, [none, none, %i], %s)
  %d: float32[1, 2, 8, 4] = aten.index_put.default(%b, [none, none, %i], %w)
  return %d
}
)",
                       complete_row_updates),
            R"(etg 1
module "m"

graph @forward {
  user %c: float32[1, 2, 8, 4]
  user %i: int64[3]
  user %v: float32[2, 3, 4]
  user %s: float32[]
  user %w: float32[1, 2, 3, 4]
  %0: float32[1, 2, 3, 4] = aten.view.default(%v, [1, 2, 3, 4])
  %a: float32[1, 2, 8, 4] = aten.index_put.default(%c, [none, none, %i], %0)
  %b: float32[1, 2, 8, 4] = aten.index_put.default(%a, [none, none, %i], %s)
  %d: float32[1, 2, 8, 4] = aten.index_put.default(%b, [none, none, %i], %w)
  return %d
}
)");
}

TEST(ScalarsToTensors, NumbersBecomeConstantsOfTheirOwnKindAndAreCast) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  user %i: int64[2]
  %a: float32[2] = aten.add.Tensor(%x, 1)
  %b: float32[2] = aten.mul.Tensor(%a, 0.5)
  %c: float32[2] = aten.div.Tensor(%i, 2)
  %d: bool[2] = aten.eq.Tensor(%i, true)
  return %b, %c, %d
}
)",
                       scalars_to_tensors),
            R"(etg 1
module "m"
constant "_lifted_tensor_constant0": int64[] = [1]
constant "_lifted_tensor_constant1": float32[] = [0.5]
constant "_lifted_tensor_constant2": int64[] = [2]
constant "_lifted_tensor_constant3": bool[] = [1]

graph @forward {
  user %x: float32[2]
  user %i: int64[2]
  constant %_lifted_tensor_constant0: int64[] = "_lifted_tensor_constant0" as "_lifted_tensor_constant0"
  constant %_lifted_tensor_constant1: float32[] = "_lifted_tensor_constant1" as "_lifted_tensor_constant1"
  constant %_lifted_tensor_constant2: int64[] = "_lifted_tensor_constant2" as "_lifted_tensor_constant2"
  constant %_lifted_tensor_constant3: bool[] = "_lifted_tensor_constant3" as "_lifted_tensor_constant3"
  %0: float32[] = aten._to_copy.default(%_lifted_tensor_constant0, dtype=float32)
  %a: float32[2] = aten.add.Tensor(%x, %0)
  %b: float32[2] = aten.mul.Tensor(%a, %_lifted_tensor_constant1)
  %1: float32[2] = aten._to_copy.default(%i, dtype=float32)
  %2: float32[] = aten._to_copy.default(%_lifted_tensor_constant2, dtype=float32)
  %c: float32[2] = aten.div.Tensor(%1, %2)
  %d: bool[2] = aten.eq.Tensor(%i, %_lifted_tensor_constant3)
  return %b, %c, %d
}
)");
}

TEST(ScalarsToTensors, SymbolicNumbersAreMadeOfTheFloatsThatTheyAreCastTo) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
symbol s0 {2..16}

graph @forward {
  user %x: float32[s0]
  user %i: int64[s0]
  %a: float32[s0] = aten.div.Tensor(%x, s0)
  %b: int64[s0] = aten.add.Tensor(%i, s0)
  %c: float32[s0] = aten.div.Tensor(%i, s0)
  return %a, %b, %c
}
)",
                       scalars_to_tensors),
            R"(etg 1
module "m"
symbol s0 {2..16}

graph @forward {
  user %x: float32[s0]
  user %i: int64[s0]
  %0: float32[] = aten.scalar_tensor.default(s0, dtype=float32)
  %a: float32[s0] = aten.div.Tensor(%x, %0)
  %1: int64[] = aten.scalar_tensor.default(s0, dtype=int64)
  %b: int64[s0] = aten.add.Tensor(%i, %1)
  %2: float32[] = aten.scalar_tensor.default(s0, dtype=float32)
  %3: float32[s0] = aten._to_copy.default(%i, dtype=float32)
  %c: float32[s0] = aten.div.Tensor(%3, %2)
  return %a, %b, %c
}
)");
}

TEST(DimOrderOps, CopiesNameTheirOrder) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[1, 3, 2, 2]
  %c: float32[1, 3, 2, 2] order(0, 2, 3, 1) = aten.clone.default(%x, memory_format=memory_format(channels_last))
  %h: float16[1, 3, 2, 2] order(0, 2, 3, 1) = aten._to_copy.default(%c, dtype=float16)
  return %h
}
)",
                       use_dim_order_ops),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[1, 3, 2, 2]
  %c: float32[1, 3, 2, 2] order(0, 2, 3, 1) = dim_order_ops._clone_dim_order.default(%x, dim_order=[0, 2, 3, 1])
  %h: float16[1, 3, 2, 2] order(0, 2, 3, 1) = dim_order_ops._to_dim_order_copy.default(%c, dtype=float16, dim_order=[0, 2, 3, 1])
  return %h
}
)");
}

TEST(RemoveDeadCode, NodesParametersAndConstantsGo) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"
symbol s0 {2..9}
symbol u0 {0..9}
constant "dead": float32[1] = [1]
constant "live": float32[1] = [2]

graph @forward {
  parameter %d: float32[1] = "dead" as "dead"
  parameter %l: float32[1] = "live" as "live"
  user %x: int64[s0]
  user %unused: float32[1]
  %n: sym_int(s0) = aten.sym_size.int(%x, 0)
  %item: sym_int(u0) = aten.item.default(%x)
  %a: float32[1] = aten.neg.default(%d)
  %b: float32[1] = aten.neg.default(%a)
  %full: float32[u0] = aten.full.default([u0], 0)
  %y: float32[1] = aten.neg.default(%l)
  return %y, %full
}
)",
                       remove_dead_code),
            R"(etg 1
module "m"
symbol s0 {2..9}
symbol u0 {0..9}
constant "live": float32[1] = [2]

graph @forward {
  parameter %l: float32[1] = "live" as "live"
  user %x: int64[s0]
  user %unused: float32[1]
  %item: sym_int(u0) = aten.item.default(%x)
  %full: float32[u0] = aten.full.default([u0], 0)
  %y: float32[1] = aten.neg.default(%l)
  return %y, %full
}
)");
}

// The kernel of the factorisation fails where the exporter wrote a check of its own.
TEST(FactorizationChecks, AreDoneByTheFactorization) {
  EXPECT_EQ(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 2]
  %y: float32[2, 2], %info: int32[] = aten.linalg_inv_ex.default(%x)
  aten._linalg_check_errors.default(%info, "linalg.inv", is_matrix=true)
  return %y
}
)",
                       absorb_factorization_checks),
            R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 2]
  %y: float32[2, 2], %info: int32[] = aten.linalg_inv_ex.default(%x, check_errors=true)
  return %y
}
)");
  EXPECT_THAT(after_pass(R"(etg 1
module "m"

graph @forward {
  user %info: int32[]
  aten._linalg_check_errors.default(%info, "linalg.inv", is_matrix=true)
  return %info
}
)",
                         absorb_factorization_checks),
              HasSubstr("info comes from no factorisation of this graph"));
}

}  // namespace
}  // namespace etb::passes
