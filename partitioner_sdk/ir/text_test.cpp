// SPDX-License-Identifier: Apache-2.0
// Tests the text form: print, parse, and errors.
#include "partitioner_sdk/ir/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/ir/verify.hpp"

namespace etb::ir {
namespace {

using ::testing::HasSubstr;

constexpr const char* kEverything = R"(etg 1
module "forward"
symbol s77 {2..10} hint 7
symbol u0 {0..}
op "my::scale(Tensor x, float s=2.0, *, str mode=\"a\") -> Tensor"
constant "fc.weight": float32[2, 3] order(1, 0) = [1, 2.5, -3, 4, 5, 6]
constant "big": int64[5, 5] = ...
constant "half": float16[1] = [15360]

graph @forward {
  parameter %w: float32[2, 3] order(1, 0) = "fc.weight" as "fc.weight"
  buffer %b: int64[5, 5] = "big" as "big"
  user %x: float32[s77, 3]
  user %n: sym_int(u0)
  user %flag: bool[]
  %linear: float32[s77, 2] = aten.linear.default(%x, %w)
  %add: float32[s77, 2] = aten.add.Tensor(%linear, 1, alpha=2)
  %0: float32[s77, 2] = aten.mul.Scalar(%add, 1e-05)
  %sum: float32[2] = aten.sum.dim_IntList(%0, [0], dtype=float32)
  %view: float32[2*s77] = aten.view.default(%0, [2*s77])
  %values: float32[3], %indices: int64[3] = aten.topk.default(%view, 3, largest=false)
  %picked: float32[3, 2] = aten.index.Tensor(%0, [none, %indices])
  %clone: float32[s77, 2] = aten.clone.default(%0, memory_format=memory_format(contiguous))
  %to: float32[s77, 2] = aten.to.dtype_layout(%clone, dtype=float32, layout=layout(strided), device=device("cpu"))
  %full: float32[2] = aten.full.default([2], -inf)
  aten._assert_scalar.default(true, "say \"hi\"\n")
  %own: float32[s77, 2] = my.scale.default(%to, mode="b")
  %branch: float32[2] = higher_order.cond.default(%flag, @yes, @no, [%sum])
  return %branch, %b updates %b, none, 3
}

graph @yes {
  user %a: float32[2]
  return %a
}

graph @no {
  user %a: float32[2]
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
  auto module = parse(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
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
  auto module = parse(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2]
  %y: float32[2] = aten.neg.default(%x)
  return %y
}
)");
  ASSERT_TRUE(module);
  module->main().values[1].name = "x";
  EXPECT_THAT(print(*module), HasSubstr("%x.1: float32[2] = aten.neg.default(%x)"));
}

TEST(Text, SourcesAreWrittenAndRead) {
  auto module = parse(kEverything);
  ASSERT_TRUE(module);
  module->main().nodes[0].source = module->add_source({"model.py", 12, "forward", "fc", "Linear"});
  module->main().nodes[0].debug_handle = 7;
  const std::string text = print(*module, {.has_sources = true});
  EXPECT_THAT(text,
              HasSubstr("aten.linear.default(%x, %w) !7 at \"model.py\":12 in \"forward\" of \"fc\"\n"));
  auto again = parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print(*again, {.has_sources = true}), text);
}

TEST(Text, FaultsAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1 column 1: expected 'etg', found the end"},
      {"etg 1\nmodule \"m\"\n", "needs a graph"},
      {"etg 1\nmodule \"m\"\nnonsense", "line 3 column 1: expected 'graph', found 'nonsense'"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n user %x: float33[2]\n return }",
       "line 4 column 11: expected a type, found 'float33'"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n return %y }", "line 4 column 9: unknown value %y"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n user %x: float32[]\n %x: float32[] = aten.neg.default(%x)\n return "
       "}",
       "defined twice"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n user %x: float32[]\n %y: float32[] = aten.add.Tensor(%x)\n return "
       "}",
       "line 5 column 18: aten.add.Tensor needs 'other'"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n user %x: float32[]\n %y: float32[] = aten.neg.default(%x, 1)\n "
       "return }",
       "too many"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n %y: float32[] = aten.neg.default(%y)\n return }",
       "uses its own result"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n higher_order.cond.default(@no)\n return }", "no graph 'no'"},
      {"etg 1\nmodule \"m\"\nconstant \"c\": float32[99999999999999] = ...", "too large"},
      {"etg 1\nmodule \"m\"\nconstant \"c\": float32[2] strides(1, 1) = ...", "as many strides"},
      {"etg 1\nmodule \"m\"\nconstant \"c\": float32[2, 2] order(1, 1) = ...", "names each dimension once"},
      {"etg 1\nmodule \"m\"\nconstant \"c\": float32[3] = [1, 2]", "3 elements with 8 bytes"},
      {"etg 1\nmodule \"m\"\nop \"my::f(Tensr x) -> Tensor\"",
       "line 3 column 4: op 'my::f(Tensr x) -> Tensor', character 11"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n user %x: float32[q]\n return }",
       "expected a number or a symbol, found 'q'"},
      {"etg 1\nmodule \"m\"\ngraph @g {\n user %x: float32[?{1..2}]\n return }", "a number or a formula"},
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
  const TensorSpec spec = {Dtype::FLOAT32, {2}, {1}};
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

// The one notation: what an image prints is the text of a module, too.
TEST(Text, TheTextOfAnImageIsAModule) {
  auto module = parse(R"(etg 1
name "forward"
producer "etbackend compile"
symbol s0 {2..8}
constant "fc.weight": float32[1, 2] sha256 0x0000000000000000000000000000000000000000000000000000000000000000 = 0x0000803f00000040
constant "outside": float32[1] sha256 0x0000000000000000000000000000000000000000000000000000000000000001

graph @forward {
  user %x: float32[s0{2..8}, 2]
  parameter %w: float32[1, 2] = "fc.weight" as "fc.weight"
  %n: sym_int(s0){2..8} = aten.sym_size.int(self=%x, dim=0)
  %y: float32[s0{2..8}, 1] = aten.linear.default(input=%x, weight=%w, bias=none) !3 at "m.py":2
  return %y
}
)");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(print(*module, {.has_sources = true}), R"(etg 1
module "forward"
symbol s0 {2..8}
constant "fc.weight": float32[1, 2] = [1, 2]
constant "outside": float32[1] = [0]

graph @forward {
  user %x: float32[s0, 2]
  parameter %w: float32[1, 2] = "fc.weight" as "fc.weight"
  %n: sym_int(s0) = aten.sym_size.int(%x, 0)
  %y: float32[s0, 1] = aten.linear.default(%x, %w) !3 at "m.py":2
  return %y
}
)");
  EXPECT_TRUE(is_module_text(print(*module)));
}

TEST(Text, ElementsThatAreLeftOutCanBeRejected) {
  EXPECT_FALSE(parse(kEverything, {.needs_data = true}));
  EXPECT_THAT(parse(kEverything, {.needs_data = true}).error().message,
              HasSubstr("the data of constant 'big' is left out"));
}

// Formulas with the operators of the notation keep their meaning.
TEST(Text, FormulasAreReadAsTheyAreWritten) {
  for (const char* size : {"s0//2", "(s0+1)//2", "2*(s0//3)", "s0//3*s0", "(2*s0)//3*s1", "s1//(2*s0)",
                           "s1//(s0//2)", "mod(s0+1, 3)", "min(s0, 2*s1)+-1", "-1*s0+max(s0, s1)"}) {
    const std::string text =
        std::string("etg 1\nmodule \"m\"\nsymbol s0 {2..9}\nsymbol s1 {1..}\n\ngraph @g {\n") +
        "  user %n: sym_int(" + size + ")\n  return\n}\n";
    auto module = parse(text);
    ASSERT_TRUE(module) << size << ": " << module.error().message;
    auto again = parse(print(*module));
    ASSERT_TRUE(again) << print(*module) << again.error().message;
    EXPECT_EQ(print(*again), print(*module)) << size;
    for (const auto hint : {2, 3, 7}) {
      module->symbols.set_hint(0, hint), again->symbols.set_hint(0, hint);
      module->symbols.set_hint(1, 5), again->symbols.set_hint(1, 5);
      EXPECT_EQ(module->symbols.hint(module->main().values[0].dim),
                again->symbols.hint(again->main().values[0].dim));
    }
  }
}

}  // namespace
}  // namespace etb::ir
