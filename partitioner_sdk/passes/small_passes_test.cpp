// SPDX-License-Identifier: Apache-2.0
// additive_masks, row_updates, views_to_copies, scalars_to_tensors, dim_order_ops, remove_dead_code, decompose: each on the text of a small graph.
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

constexpr const char* kLinear = R"(etg 1
module "m"
symbol s0 {2..9}

graph @forward {
  user %x: float32[s0, 5, 4]
  user %w: float32[3, 4]
  %y: float32[s0, 5, 3] = aten.linear.default(%x, %w)
  return %y
}
)";

TEST(Decompose, SymbolicSizesStayFormulas) {
  EXPECT_EQ(after_pass(kLinear, [](ir::Module& m) { return decompose(m); }), R"(etg 1
module "m"
symbol s0 {2..9}

graph @forward {
  user %x: float32[s0, 5, 4]
  user %w: float32[3, 4]
  %0: float32[4, 3] order(1, 0) = aten.permute.default(%w, [1, 0])
  %1: float32[5*s0, 4] = aten.view.default(%x, [5*s0, 4])
  %2: float32[5*s0, 3] = aten.mm.default(%1, %0)
  %y: float32[s0, 5, 3] = aten.view.default(%2, [s0, 5, 3])
  return %y
}
)");
}

TEST(Decompose, PreservedOpsStay) {
  EXPECT_EQ(after_pass(kLinear, [](ir::Module& m) { return decompose(m, {{"aten.linear.default"}}); }),
            "unchanged");
}

// A plugin that claims whole linear ops also gets those of a recurrent layer; an op whose results cannot be
// inferred is decomposed there.
TEST(Decompose, WhatADecompositionMakesIsPreservedWhereItsResultsAreKnown) {
  const char* text = R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  user %h: float32[2, 4]
  user %a: float32[4, 3]
  user %b: float32[4, 4]
  %y: float32[2, 4] = aten.rnn_tanh_cell.default(%x, %h, %a, %b)
  return %y
}
)";
  const DecomposeOptions options{{"aten.linear.default", "aten.silu.default"}};
  const std::string after = after_pass(text, [&](ir::Module& m) { return decompose(m, options); });
  EXPECT_THAT(after, HasSubstr("float32[2, 4] = aten.linear.default(%x, %a)"));
  EXPECT_THAT(after, HasSubstr("float32[2, 4] = aten.linear.default(%h, %b)"));
}

TEST(Decompose, OneErrorNamesEveryOpThatCannotBeTakenApart) {
  const std::string error =
      after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.dropout.default(%x, 1.5, true)
  %z: float32[2] = aten.silu.default(%y)
  %u: float32[2] = aten.dropout.default(%z, -0.25, true)
  return %u
}
)",
                 [](ir::Module& m) {
                   for (uint32_t i = 0; i < 3; ++i)
                     m.main().nodes[i].source = m.add_source({"net.py", 7 + i, "forward", "", ""});
                   return decompose(m);
                 });
  EXPECT_THAT(error, HasSubstr("(net.py:7 in forward)\naten.dropout"));
  EXPECT_THAT(error, HasSubstr("(net.py:9 in forward)"));
}

TEST(Decompose, TablesAreSortedByOp) {
  size_t count = 0;
  for (const auto table : decomposition_tables()) {
    for (size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].op, table[i].op);
    count += table.size();
  }
  EXPECT_GT(count, 200u);
  const auto formulas = formula_table();
  for (size_t i = 1; i < formulas.size(); ++i) EXPECT_LT(formulas[i - 1].op, formulas[i].op);
}

TEST(Decompose, ResultsMustBeWhatTheExporterSaid) {
  std::string text = kLinear;
  text.replace(text.find("%y: float32[s0, 5, 3]"), 21, "%y: float32[s0, 5, 7]");
  EXPECT_THAT(after_pass(text, [](ir::Module& m) { return decompose(m); }),
              HasSubstr("decomposed to float32[s0, 5, 3], the exporter declares float32[s0, 5, 7]"));
}

TEST(Decompose, AnErrorHasItsSource) {
  EXPECT_THAT(after_pass(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.dropout.default(%x, 1.5, true)
  return %y
}
)",
                         [](ir::Module& m) {
                           m.main().nodes[0].source = m.add_source({"net.py", 9, "forward", "", ""});
                           return decompose(m);
                         }),
              HasSubstr("aten.dropout.default: a probability of 1.500000, expected 0 to 1 (net.py:9 in "
                        "forward)"));
}

// A call with arguments that no tensor fits, or that only training has, names what is wrong.
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

TEST(Decompose, RejectsArgumentsByName) {
  const struct {
    const char *inputs, *call, *message;
  } rows[] = {
      {"float32[2]", "float32[2] = aten.alpha_dropout.default(%x, 2.0, true)", "a probability of 2"},
      {"float32[2, 3]", "float32[2, 3] = aten.feature_dropout.default(%x, -1.0, true)",
       "a probability of -1"},
      {"float32[2, 3]", "float32[2, 3] = aten.geometric.default(%x, 0.0)", "more than 0 and less than 1"},
      {"float32[2, 3]", "float32[2, 3] = aten.bernoulli.p(%x, 1.5)", "a probability of 1.5"},
      {"float32[3]", "int64[0] = aten.multinomial.default(%x, 0)", "0 samples of weights of rank 1"},
      {"float32[3]", "int64[4] = aten.randint.low(3, 3, [4])", "integers from 3 to below 3"},
      {"float32[3]", "int64[4] = aten.randint.default(9223372036854775807, [4])", "within 2^53"},
      {"float32[2, 3]", "float32[2, 3] = aten.gelu_backward.default(%x, %x, approximate=\"cubic\")",
       "approximate is 'cubic'"},
      {"float32[1, 1, 4]",
       "float32[1, 1, 2] = aten.upsample_nearest1d_backward.default(%x, [4], [1, 1, 2], 1e+30)",
       "cannot resample by a factor"},
      {"float32[1, 1, 4]", "float32[1, 2] = aten.upsample_nearest1d_backward.default(%x, [4], [1, 2])",
       "a gradient of rank 3"},
      {"float32[1, 1, 1, 1, 4]",
       "float32[1, 1, 1, 1, 4] = aten.avg_pool3d_backward.default(%x, %x, [0, 1, 1], [1, 1, 1], [0, 0, 0], "
       "false, true, none)",
       "not three numbers from 1"},
      {"float32[2, 3]", "float32[4] = aten.unfold_backward.default(%x, [4], 0, 3, 0)", "in steps of 0"},
      {"float32[1, 1, 2, 2]",
       "float32[1, 1, 2, 2], %g: float32[1, 2, 2, 2] = aten.grid_sampler_2d_backward.default(%x, %x, %x, 2, "
       "0, "
       "true, [true, true])",
       "interpolation_mode 2 and padding_mode 0"},
      {"float32[2, 3, 4]",
       "float32[2, 3, 4], %k: float32[2, 3, 4], %v: float32[2, 3, 4] = "
       "aten._scaled_dot_product_flash_attention_for_cpu_backward.default(%x, %x, %x, %x, %x, %x, 0.0, "
       "false)",
       "expected query, key and value of rank 4"},
      {"float32[2, 3]",
       "float32[2, 3], %w: float32[3], %b: float32[3] = aten.native_layer_norm_backward.default(%x, %x, [1, "
       "2, 3], "
       "%x, %x, none, none, [true, true, true])",
       "normalized_shape has 3 sizes"},
      {"float32[2, 3]", "float32[2], %i: int64[2] = aten.kthvalue.default(%x, -9223372036854775808)",
       "expected at least 1"},
      {"float32[2, 3]", "float32[] = aten.linalg_matrix_norm.default(%x, 1, [0])",
       "1 dimensions of a tensor of rank 2"},
      {"float32[2, 3]", "float32[2, 3] = aten.linalg_matrix_norm.default(%x, 3)", "a matrix norm of order 3"},
      {"float32[2]", "float32[] = aten.linalg_det.default(%x)", "expected matrices (rank 2 or more)"},
      {"float32[2]", "float32[2] = aten.linalg_inv.default(%x)", "expected matrices (rank 2 or more)"},
      {"float32[2]", "float32[] = aten.linalg_cond.default(%x)", "expected matrices (rank 2 or more)"},
      {"float32[2]", "float32[2] = aten.linalg_pinv.default(%x, 0.5)", "expected matrices (rank 2 or more)"},
      {"float32[2]", "float32[2], %v: float32[2] = aten.linalg_eigh.default(%x)",
       "expected matrices (rank 2 or more)"},
      {"float32[2, 2]", "float32[2, 2] = aten.linalg_tensorinv.default(%x, 0)", "ind is 0"},
      {"float32[2, 2]", "float32[2, 2] = aten.linalg_tensorinv.default(%x, 3)", "ind is 3"},
      {"float32[2, 2]", "float32[2, 2], %r: float32[2, 2] = aten.linalg_qr.default(%x, \"full\")",
       "mode 'full'"},
      {"float32[2, 2]", "float32[] = aten.linalg_norm.ord_str(%x, \"inf\")", "expected 'fro' or 'nuc'"},
      {"float32[2]", "float32[2] = aten.matrix_power.default(%x, 2)", "power 2 of a tensor of rank 1"},
      {"float32[2, 2]", "float32[2, 2] = aten.matrix_power.default(%x, -9223372036854775808)",
       "a power of int64 that can be negated"},
      {"float32[]", "float32[] = aten.tensordot.default(%x, %x, [0], [0])", "tensor without any"},
      {"float32[]", "float32[] = aten.trapezoid.x(%x, %x)", "expected a vector or the dimensions of y"},
      {"float32[3]", "float32[] = aten.einsum.default(\"ij->\", [%x])", "2 letters for operand 0 of rank 1"},
      {"float32[3]", "float32[3] = aten.einsum.default(\"i->ii\", [%x])", "once in the result"},
      {"float32[3]", "float32[0, 0] = aten._chunk_cat.default([%x], 0, 0)", "0 chunks of a tensor of rank 1"},
      {"float32[3]", "float32[4] = aten.resize.default(%x, [4])", "a resize to 4 elements of 3"},
      {"float32[3]", "int64[2, 4] = aten.tril_indices.default(-1, 4)", "a matrix of -1 by 4"},
  };
  for (const auto& row : rows) {
    const std::string text = std::string("etg 1\nmodule \"m\"\n\ngraph @forward {\n  user %x: ") +
                             row.inputs + "\n  %y: " + row.call + "\n  return %y\n}\n";
    EXPECT_THAT(after_pass(text, [](ir::Module& m) { return decompose(m); }), HasSubstr(row.message))
        << row.call;
  }
}

}  // namespace
}  // namespace etb::passes
