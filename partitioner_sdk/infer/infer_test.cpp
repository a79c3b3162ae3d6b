// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/infer/infer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::infer {
namespace {

// A module whose results are inferred from its arguments; the types in the text are ignored.
std::string inferred(const std::string& inputs, const std::string& call) {
  auto module = ir::parse("etg 1\nmodule \"m\"\nsymbol s0 {2..9} hint 4\ngraph @g {\n" + inputs +
                          "\n %r: float32[] = " + call + "\n return }");
  if (!module) return module.error().message;
  ir::Graph& graph = module->main();
  const auto specs = infer(*module, graph, graph.nodes[0].op, graph.nodes[0].args);
  if (!specs) return "error: " + specs.error().message;
  graph.nodes[0].outputs.clear();
  for (const ir::TensorSpec& spec : *specs)
    graph.nodes[0].outputs.push_back(graph.add_value({"", {}, spec, {}}));
  const std::string text = ir::print(*module);
  const size_t start = text.find("\n  %0: ") + 3, end = text.find(" = aten", start);
  return text.substr(start, end - start);
}

TEST(Infer, SizesAndDtypes) {
  struct Case {
    const char *inputs, *call, *result;
  };
  const Case cases[] = {
      {"user %x: float32[2, 3] user %y: float32[3]", "aten.add.Tensor(%x, %y)", "%0: float32[2, 3]"},
      {"user %x: int64[2]", "aten.add.Tensor(%x, 1.5)", "%0: float32[2]"},
      {"user %x: int32[2] user %y: int64[]", "aten.add.Tensor(%x, %y)", "%0: int32[2]"},
      {"user %x: int64[2]", "aten.exp.default(%x)", "%0: float32[2]"},
      {"user %x: float16[2]", "aten.gt.Scalar(%x, 0)", "%0: bool[2]"},
      {"user %x: int64[2]", "aten.div.Tensor_mode(%x, 2, rounding_mode=\"floor\")", "%0: int64[2]"},
      {"user %x: float32[s0, 3]", "aten.mean.dim(%x, [1], true)", "%0: float32[s0, 1]"},
      {"user %x: int32[2, 3]", "aten.sum.dim_IntList(%x, none)", "%0: int64[]"},
      {"user %x: float32[1, 3, 8, 8] user %w: float32[4, 3, 3, 3]",
       "aten.convolution.default(%x, %w, none, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)",
       "%0: float32[1, 4, 4, 4]"},
      {"user %x: float32[1, 4, 8, 8] user %w: float32[4, 6, 3, 3]",
       "aten.convolution.default(%x, %w, none, [2, 2], [1, 1], [1, 1], true, [1, 1], 1)",
       "%0: float32[1, 6, 16, 16]"},
      {"user %x: float32[1, 4, 7, 7]", "aten.max_pool2d_with_indices.default(%x, [2, 2], ceil_mode=true)",
       "%0: float32[1, 4, 4, 4], %1: int64[1, 4, 4, 4]"},
      {"user %x: float32[s0, 4]", "aten.view.default(%x, [-1])", "%0: float32[4*s0]"},
      {"user %x: float32[s0, 4] user %y: float32[2, 4]", "aten.cat.default([%x, %y])",
       "%0: float32[s0+2, 4]"},
      {"user %x: float32[5, 4]", "aten.slice.Tensor(%x, 0, -3, 9223372036854775807)", "%0: float32[3, 4]"},
      {"user %x: float32[5, 4]", "aten.slice.Tensor(%x, 1, 0, 4, 3)", "%0: float32[5, 2] strides(4, 3)"},
      {"user %x: float32[s0, 4]", "aten.slice.Tensor(%x, 0, 1)", "%0: float32[s0+-1, 4]"},
      {"user %x: float32[4, 5, 6] user %i: int64[2, 3]", "aten.index.Tensor(%x, [none, %i])",
       "%0: float32[4, 2, 3, 6]"},
      {"user %x: float32[4, 5, 6] user %i: int64[2]", "aten.index.Tensor(%x, [%i, none, %i])",
       "%0: float32[2, 5]"},
      {"user %x: float32[2, 3]", "aten.var.correction(%x, [1], correction=1)", "%0: float32[2]"},
      {"user %x: float32[3]", "aten.where.self(%x, %x, 0)", "%0: float32[3]"},
      {"", "aten.arange.start_step(0, s0)", "%0: int64[s0]"},
  };
  for (const Case& c : cases) EXPECT_EQ(inferred(c.inputs, c.call), c.result) << c.call;
}

TEST(Infer, StridesOfViewsAndOfWhatFollows) {
  struct Case {
    const char *inputs, *call, *result;
  };
  const Case cases[] = {
      {"user %x: float32[2, 3]", "aten.permute.default(%x, [1, 0])", "%0: float32[3, 2] order(1, 0)"},
      {"user %x: float32[2, 3]", "aten.permute_copy.default(%x, [1, 0])", "%0: float32[3, 2]"},
      {"user %x: float32[3, 2] order(1, 0)", "aten.relu.default(%x)", "%0: float32[3, 2] order(1, 0)"},
      {"user %x: float32[3, 2] order(1, 0) user %y: float32[2]", "aten.add.Tensor(%x, %y)",
       "%0: float32[3, 2] order(1, 0)"},
      {"user %x: float32[3, 4] strides(8, 1)", "aten.relu.default(%x)", "%0: float32[3, 4]"},
      {"user %x: float32[1, 3, 4, 4] order(0, 2, 3, 1) user %w: float32[2, 3, 1, 1]",
       "aten.convolution.default(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)",
       "%0: float32[1, 2, 4, 4] order(0, 2, 3, 1)"},
      {"user %x: float32[3, 2] order(1, 0)", "aten.clone.default(%x)", "%0: float32[3, 2] order(1, 0)"},
      {"user %x: float32[3, 2] order(1, 0)",
       "aten.clone.default(%x, memory_format=memory_format(contiguous))", "%0: float32[3, 2]"},
      {"user %x: float32[1, 3]", "aten.expand.default(%x, [4, -1])", "%0: float32[4, 3] strides(0, 1)"},
      {"user %x: float32[2, 3, 4] order(0, 2, 1)", "aten.view.default(%x, [2, 3, 2, 2])",
       "%0: float32[2, 3, 2, 2] order(0, 2, 3, 1)"},
      {"user %x: float32[2, 3]", "aten.unsqueeze.default(%x, -1)", "%0: float32[2, 3, 1]"},
  };
  for (const Case& c : cases) EXPECT_EQ(inferred(c.inputs, c.call), c.result) << c.call;
}

TEST(Infer, ViewsThatNeedACopyAreTold) {
  ir::SymbolTable symbols;
  const ir::TensorSpec turned{ir::Dtype::FLOAT32, {3, 2}, {1, 3}};
  EXPECT_EQ(try_view(symbols, turned, {6}), std::nullopt);
  EXPECT_EQ(try_view(symbols, turned, {3, 2, 1}), (ir::Dims{1, 3, 3}));
  const ir::Dim s = symbols.add_symbol({"s0", 2, 9, 4});
  const ir::TensorSpec batch{ir::Dtype::FLOAT32, {s, 3, 4}, {24, 4, 1}};
  EXPECT_EQ(try_view(symbols, batch, {s, 12}), (ir::Dims{24, 1}));
  EXPECT_EQ(try_view(symbols, batch, {symbols.mul(s, 12)}), std::nullopt);
}

TEST(Infer, WrongArgumentsAreErrors) {
  EXPECT_THAT(inferred("user %x: float32[2, 3] user %y: float32[4]", "aten.add.Tensor(%x, %y)"),
              ::testing::HasSubstr("do not broadcast"));
  EXPECT_THAT(inferred("user %x: float32[2, 3]", "aten.permute.default(%x, [0, 0])"),
              ::testing::HasSubstr("permutation"));
  EXPECT_THAT(inferred("user %x: float32[2]", "aten.select.int(%x, 5, 0)"),
              ::testing::HasSubstr("dimension 5"));
  EXPECT_THAT(inferred("user %x: float32[2]", "aten.mm.default(%x, %x)"), ::testing::HasSubstr("matrices"));
  EXPECT_THAT(inferred("user %x: float32[2]", "aten.view.default(%x, [3])"),
              ::testing::HasSubstr("elements"));
  EXPECT_THAT(inferred("user %x: float32[2]", "aten.silu.default(%x)"), ::testing::HasSubstr("no rule"));
}

TEST(Infer, ErrorsNameTheArgument) {
  EXPECT_THAT(inferred("user %x: float32[4]", "aten.topk.default(%x, 1, s0)"),
              ::testing::HasSubstr("argument 'dim' is known only at run time"));
}

TEST(Infer, SizesThatDoNotFitAreErrors) {
  const std::string image = "user %x: float32[1, 1, 2, 2]", line = "user %x: float32[5]";
  EXPECT_THAT(inferred(image, "aten.avg_pool2d.default(%x, [3, 3])"),
              ::testing::HasSubstr("window of 3 does not fit"));
  EXPECT_THAT(inferred(line, "aten.view.default(%x, [-1, 2])"), ::testing::HasSubstr("do not fill size 0"));
  EXPECT_THAT(inferred(line, "aten.expand.default(%x, [4])"), ::testing::HasSubstr("to size 4"));
  EXPECT_THAT(inferred(line + " user %y: float32[2, 5]", "aten.cat.default([%x, %y])"),
              ::testing::HasSubstr("different rank"));
}

// An op has a rule for its sizes if, and only if, its row in schemas.txt has one for its dtypes.
TEST(Infer, SizesAndDtypesHaveRulesForTheSameOps) {
  size_t count = 0;
  for (uint32_t i = 0; i < ops::schema_count(); ++i) {
    const ops::Schema& schema = ops::get_schema(i);
    EXPECT_EQ(find_rule(schema.name()) != nullptr, schema.result_rule() != nullptr) << schema.name();
    count += schema.result_rule() != nullptr;
  }
  EXPECT_GE(count, 164u);
}

TEST(Infer, DtypesOfListsArePromoted) {
  EXPECT_EQ(inferred("user %x: int8[2] user %y: float16[2]", "aten.cat.default([%x, %y])"),
            "%0: float16[4]");
  EXPECT_EQ(inferred("user %x: float32[0] user %y: int64[3]", "aten.cat.default([%x, %y])"),
            "%0: float32[3]");
  EXPECT_THAT(inferred("user %x: uint16[2] user %y: int8[2]", "aten.cat.default([%x, %y])"),
              ::testing::HasSubstr("does not promote"));
}

TEST(Infer, TablesAreSorted) {
  for (const auto rows :
       {fourier_rules(), gathering_rules(), pointwise_rules(), reduction_rules(), view_rules(), window_rules()}) {
    EXPECT_FALSE(rows.empty());
    for (const Rule& row : rows) EXPECT_EQ(find_rule(row.name), &row) << row.name;
  }
}

}  // namespace
}  // namespace etb::infer
