// SPDX-License-Identifier: Apache-2.0
// Tests the text form: print, parse, and errors.
#include "partitioner_sdk/ir/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/ir/verify.hpp"

namespace etb::ir {
namespace {

using ::testing::HasSubstr;

constexpr const char* kEverything = R"(module "forward"
symbol s77 [2, 10] hint 7
symbol u0 [0, inf]
op "my::scale(Tensor x, float s=2.0, *, str mode=\"a\") -> Tensor"
constant "fc.weight" float32[2, 3]{1, 2} = {1, 2.5, -3, 4, 5, 6}
constant "big" int64[5, 5] = ...
constant "half" float16[1] = {15360}
graph @forward(
  %w: float32[2, 3]{1, 2} = parameter "fc.weight" constant 0,
  %b: int64[5, 5] = buffer "big" constant 1,
  %x: float32[s77, 3] = user,
  %n: int(u0) = user,
  %flag: bool[] = user) {
  %linear: float32[s77, 2] = aten.linear.default(%x, %w)
  %add: float32[s77, 2] = aten.add.Tensor(%linear, 1, alpha=2)
  %0: float32[s77, 2] = aten.mul.Scalar(%add, 1e-05)
  %sum: float32[2] = aten.sum.dim_IntList(%0, [0], dtype=float32)
  %view: float32[2*s77] = aten.view.default(%0, [2*s77])
  %values: float32[3], %indices: int64[3] = aten.topk.default(%view, 3, largest=false)
  %picked: float32[3, 2] = aten.index.Tensor(%0, [none, %indices])
  %clone: float32[s77, 2] = aten.clone.default(%0, memory_format=contiguous)
  %to: float32[s77, 2] = aten.to.dtype_layout(%clone, dtype=float32, layout=strided, device=device("cpu"))
  %full: float32[2] = aten.full.default([2], -inf)
  aten._assert_scalar.default(true, "say \"hi\"\x0a")
  %own: float32[s77, 2] = my.scale.default(%to, mode="b")
  %branch: float32[2] = higher_order.cond.default(%flag, @yes, @no, [%sum])
  return %branch, buffer "big" = %b, none, 3
}
graph @yes(
  %a: float32[2] = user) {
  return %a
}
graph @no(
  %a: float32[2] = user) {
  %neg: float32[2] = aten.neg.default(%a)
  return %neg
}
)";

TEST(Text, WhatIsReadIsWrittenAgain) {
  auto module = parse(kEverything);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(print(*module), kEverything);
  const Status status = verify(*module);
  EXPECT_TRUE(status) << status.error().message;
}

TEST(Text, DefaultsAreFilledIn) {
  auto module = parse(R"(module "m"
graph @forward(
  %x: float32[2] = user) {
  %y: float32[2] = aten.add.Tensor(%x, %x)
  return %y
}
)");
  ASSERT_TRUE(module) << module.error().message;
  const Node& add = module->main().nodes[0];
  ASSERT_EQ(add.args.size(), 3u);
  EXPECT_EQ(add.args[2], Argument(Dim(1)));
}

TEST(Text, StridedElementsOfConstantsAreInLogicalOrder) {
  auto module = parse(kEverything);
  ASSERT_TRUE(module);
  const Constant& weight = module->constants[0];
  float stored[6];
  ASSERT_EQ(weight.storage.size(), sizeof(stored));
  std::memcpy(stored, weight.storage.data(), sizeof(stored));
  EXPECT_THAT(stored, ::testing::ElementsAre(1, 4, 2.5, 5, -3, 6));
}

TEST(Text, ValuesOfOneNameAreToldApart) {
  auto module = parse(R"(module "m"
graph @forward(
  %x: float32[2] = user) {
  %y: float32[2] = aten.neg.default(%x)
  return %y
}
)");
  ASSERT_TRUE(module);
  module->main().values[1].name = "x";
  EXPECT_THAT(print(*module), HasSubstr("%x.1: float32[2] = aten.neg.default(%x)"));
}

TEST(Text, SourcesAreComments) {
  auto module = parse(kEverything);
  ASSERT_TRUE(module);
  module->main().nodes[0].source = module->add_source({"model.py", 12, "forward", "fc", "Linear"});
  const std::string text = print(*module, {.has_sources = true});
  EXPECT_THAT(text, HasSubstr("aten.linear.default(%x, %w)  # model.py:12 in forward, module fc\n"));
  EXPECT_TRUE(parse(text));
}

TEST(Text, FaultsAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1"},
      {"module \"m\"\n", "needs a graph"},
      {"module \"m\"\nnonsense", "line 2: expected symbol, op, constant or graph"},
      {"module \"m\"\ngraph @g(%x: float33[2] = user) { return }", "unknown type 'float33'"},
      {"module \"m\"\ngraph @g() {\n return %y }", "line 3: unknown value %y"},
      {"module \"m\"\ngraph @g(%x: float32[] = user) {\n %x: float32[] = aten.neg.default(%x)\n return }",
       "defined twice"},
      {"module \"m\"\ngraph @g(%x: float32[] = user) {\n %y: float32[] = aten.add.Tensor(%x)\n return }",
       "needs 'other'"},
      {"module \"m\"\ngraph @g(%x: float32[] = user) {\n %y: float32[] = aten.neg.default(%x, 1)\n return }",
       "too many"},
      {"module \"m\"\ngraph @g() {\n higher_order.cond.default(@no)\n return }", "unknown graph @no"},
      {"module \"m\"\nconstant \"c\" float32[99999999999999] = ...", "too large"},
      {"module \"m\"\nconstant \"c\" float32[2]{1, 1} = ...", "as many strides"},
      {"module \"m\"\nop \"my::f(Tensr x) -> Tensor\"",
       "line 2: op 'my::f(Tensr x) -> Tensor', character 11"},
      {"module \"m\"\ngraph @g(%x: float32[q] = user) { return }", "unknown symbol 'q'"},
  };
  for (const auto& [text, message] : cases) {
    const auto module = parse(text);
    ASSERT_FALSE(module) << text;
    EXPECT_THAT(module.error().message, HasSubstr(message));
  }
}

TEST(Text, ATruncatedTextIsRefusedAtEveryLength) {
  const std::string_view all(kEverything);
  const size_t last_graph = all.find("graph @no");
  for (size_t length = 0; length < all.size() - 2; ++length) {
    // A prefix of complete graphs is a module, too, unless it references a missing one.
    EXPECT_FALSE(parse(all.substr(0, length))) << length << " of " << last_graph;
  }
}

TEST(Text, ManyNodesTakeLinearTime) {
  Module module;
  Graph& graph = module.graphs.emplace_back();
  graph.name = "forward";
  const TensorSpec spec = contiguous_spec(module.symbols, Dtype::FLOAT32, {2});
  ValueId last = graph.add_value({"x", ValueKind::kTensor, spec, {}});
  graph.inputs.push_back({last, InputKind::kUser, {}, kNone});
  const OpId neg = module.op("aten.neg.default");
  for (int i = 0; i < 100000; ++i) {
    const ValueId next = graph.add_value({"neg", ValueKind::kTensor, spec, {}});
    graph.nodes.push_back({neg, {ValueRef{last}}, {next}, kNone, 0});
    last = next;
    if (i == 1000) graph.values.reserve(100002);
  }
  graph.outputs.push_back({ValueRef{last}, OutputKind::kUser, {}});
  for (size_t i = 0; i < graph.values.size(); ++i) graph.values[i].name.clear();
  EXPECT_TRUE(verify(module));
  auto again = parse(print(module));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->main().nodes.size(), 100000u);
}

}  // namespace
}  // namespace etb::ir
