// SPDX-License-Identifier: Apache-2.0
// decompose: which ops it replaces by others, which stay, and which it rejects.
#include <gmock/gmock.h>

#include "partitioner_sdk/passes/decompose.hpp"
#include "partitioner_sdk/passes/formula.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using testing::after_pass;
using ::testing::HasSubstr;

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
