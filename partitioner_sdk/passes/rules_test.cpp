// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/rules.hpp"

#include <gmock/gmock.h>

#include "partitioner_sdk/ir/verify.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"
#include "partitioner_sdk/testing/run_pass.hpp"

namespace etb::passes {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSwish = R"(
op my::swish(Tensor x, float beta=1.0) -> Tensor   # a vendor's own
rule fuse_swish edge {
  %s = aten.sigmoid.default(%x)
  %y = aten.mul.Tensor(%x, %s)
} to {
  %y = my.swish.default(%x)
}
rule swish_apart rest {
  %y = my.swish.default(%x, $beta)
} to {
  %b = aten.mul.Scalar(%x, $beta)
  %s = aten.sigmoid.default(%b)
  %y = aten.mul.Tensor(%x, %s)
}
)";

struct Applied {
  std::string text;  // text of the module, or the error
  bool is_changed = false;
};

Applied rewrite(const std::string& rules, const std::string& graph, RuleStage stage = RuleStage::kEdge) {
  auto custom_ops = std::make_shared<ops::CustomOps>();
  auto set = RuleSet::parse(rules, "r.txt", *custom_ops);
  if (!set) return {set.error().message};
  auto module = ir::parse("etg 1\nmodule \"m\"\nsymbol s0 {2..9}\ngraph @forward {\n" + graph);
  if (!module) return {"parse: " + module.error().message};
  module->custom_ops = custom_ops;
  const auto changed = apply_rules(*module, {&*set, 1}, stage);
  if (!changed) return {changed.error().message};
  if (const Status verified = ir::verify(*module); !verified) return {verified.error().message};
  std::string text = ir::print(*module);
  return {text.substr(text.find("graph @forward {\n") + 17), *changed};
}

TEST(Rules, PutAnOpOfTheVendorsInPlaceOfSeveral) {
  const auto [text, is_changed] = rewrite(kSwish, R"(  user %x: float32[s0, 3]
  %n: float32[s0, 3] = aten.neg.default(%x)
  %s: float32[s0, 3] = aten.sigmoid.default(%n)
  %y: float32[s0, 3] = aten.mul.Tensor(%n, %s)
  return %y
}
)");
  EXPECT_EQ(text, R"(  user %x: float32[s0, 3]
  %n: float32[s0, 3] = aten.neg.default(%x)
  %y: float32[s0, 3] = my.swish.default(%n)
  return %y
}
)");
  EXPECT_TRUE(is_changed);
}

TEST(Rules, TakeAnOpApartWithItsAttributes) {
  EXPECT_EQ(rewrite(kSwish, R"(  user %x: float32[2]
  %s: float32[2] = aten.sigmoid.default(%x)
  %y: float32[2] = aten.mul.Tensor(%x, %s)
  return %y
}
)",
                    RuleStage::kRest)
                .is_changed,
            false)
      << "a rule of another stage was applied";
  const char* rules = R"(rule apart rest {
  %y = aten.leaky_relu.default(%x, $slope)
} to {
  %m = aten.mul.Scalar(%x, $slope)
  %y = aten.maximum.default(%x, %m)
})";
  EXPECT_EQ(rewrite(rules, R"(  user %x: float32[2]
  %y: float32[2] = aten.leaky_relu.default(%x, 0.25)
  %z: float32[2] = aten.leaky_relu.default(%y)
  return %z
}
)",
                    RuleStage::kRest)
                .text,
            R"(  user %x: float32[2]
  %0: float32[2] = aten.mul.Scalar(%x, 0.25)
  %y: float32[2] = aten.maximum.default(%x, %0)
  %1: float32[2] = aten.mul.Scalar(%y, 0.01)
  %z: float32[2] = aten.maximum.default(%y, %1)
  return %z
}
)");
}

TEST(Rules, LeaveWhatSomebodyElseNeeds) {
  EXPECT_FALSE(rewrite(kSwish, R"(  user %x: float32[2]
  %s: float32[2] = aten.sigmoid.default(%x)
  %y: float32[2] = aten.mul.Tensor(%x, %s)
  return %y, %s
}
)")
                   .is_changed);
}

TEST(Rules, OneNameIsOneValueAndLiteralsMustBeEqual) {
  EXPECT_FALSE(rewrite(kSwish, R"(  user %x: float32[2]
  user %z: float32[2]
  %s: float32[2] = aten.sigmoid.default(%x)
  %y: float32[2] = aten.mul.Tensor(%z, %s)
  return %y
}
)")
                   .is_changed);
  const char* rules = R"(rule r edge {
  %y = aten.add.Tensor(%a, %b, alpha=2.0)
} to {
  %c = aten.add.Tensor(%a, %b)
  %y = aten.add.Tensor(%c, %b)
})";
  EXPECT_EQ(rewrite(rules, R"(  user %x: float32[2]
  %p: float32[2] = aten.add.Tensor(%x, %x, alpha=2)
  %q: float32[2] = aten.add.Tensor(%p, %x, alpha=3)
  return %q
}
)")
                .text,
            R"(  user %x: float32[2]
  %0: float32[2] = aten.add.Tensor(%x, %x)
  %p: float32[2] = aten.add.Tensor(%0, %x)
  %q: float32[2] = aten.add.Tensor(%p, %x, alpha=3)
  return %q
}
)");
}

TEST(Rules, TypesNarrowAPatternAndTellSizes) {
  const char* rules = R"(rule r edge {
  %y = aten.permute_copy.default(%x, [0, 1])
  where %x: float32[$n, _]
  where %y: _[$n, 3]
} to {
  %y = %x
})";
  EXPECT_EQ(rewrite(rules, R"(  user %x: float32[s0, 3]
  user %i: int64[s0, 3]
  user %w: float32[s0, 4]
  %a: float32[s0, 3] = aten.permute_copy.default(%x, [0, 1])
  %b: int64[s0, 3] = aten.permute_copy.default(%i, [0, 1])
  %c: float32[s0, 4] = aten.permute_copy.default(%w, [0, 1])
  return %a, %b, %c
}
)")
                .text,
            R"(  user %x: float32[s0, 3]
  user %i: int64[s0, 3]
  user %w: float32[s0, 4]
  %b: int64[s0, 3] = aten.permute_copy.default(%i, [0, 1])
  %c: float32[s0, 4] = aten.permute_copy.default(%w, [0, 1])
  return %x, %b, %c
}
)");
}

TEST(Rules, SeveralResultsListsAndAnything) {
  const char* rules = R"(rule r aten {
  %v, _ = aten.topk.default(%x, $k, _, largest=false)
  %c = aten.cat.default([%v, %z], $dim)
} to {
  %v, %i = aten.topk.default(%x, $k)
  %c = aten.cat.default([%z, %v], $dim)
})";
  EXPECT_EQ(rewrite(rules, R"(  user %x: float32[4, 3]
  %v: float32[4, 2], %i: int64[4, 2] = aten.topk.default(%x, 2, 1, largest=false)
  %c: float32[4, 5] = aten.cat.default([%v, %x], -1)
  return %c
}
)",
                    RuleStage::kAten)
                .text,
            R"(  user %x: float32[4, 3]
  %0: float32[4, 2], %1: int64[4, 2] = aten.topk.default(%x, 2)
  %c: float32[4, 5] = aten.cat.default([%x, %0], -1)
  return %c
}
)");
}

TEST(Rules, NewResultsMustBeWhatTheOldOnesWere) {
  const char* rules =
      "# first\nrule r edge { %y = aten.relu.default(%x) } to { %y = aten.sum.dim_IntList(%x, [0]) }";
  EXPECT_EQ(rewrite(rules, R"(  user %x: float32[2, 3]
  %y: float32[2, 3] = aten.relu.default(%x)
  return %y
}
)")
                .text,
            "r.txt:2: rule 'r' at 'aten.relu.default': replaces float32[2, 3] by float32[3]");
}

TEST(Rules, AFaultyRuleOfAPluginIsToldAndLeavesTheGraph) {
  ops::CustomOps custom_ops;
  auto set = RuleSet::parse(R"(
rule bad edge { %a = aten.neg.default(%x)
  %y = aten.relu.default(%a) } to { %y = aten.sum.dim_IntList(%x, [0]) }
rule worse edge { %y = aten.add.Tensor(%a, %b, alpha=$k) } to { %y = aten.transpose.int(%a, $k, $k) }
rule good edge { %y = aten.sigmoid.default(%x) } to { %y = aten.tanh.default(%x) })",
                            "npu.rules", custom_ops);
  ASSERT_TRUE(set) << set.error().message;
  set->owner = "npu";
  const std::string text = R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %n: float32[2, 3] = aten.neg.default(%x)
  %r: float32[2, 3] = aten.relu.default(%n)
  %a: float32[2, 3] = aten.add.Tensor(%r, %x, alpha=2.5)
  %s: float32[2, 3] = aten.sigmoid.default(%a)
  return %s
}
)";
  auto module = ir::parse(text);
  ASSERT_TRUE(module);
  std::vector<std::string> faults;
  const auto changed = apply_rules(
      *module, {&*set, 1}, RuleStage::kEdge,
      [&](const std::string& owner, const Error& e) { faults.push_back(owner + ": " + e.message); });
  ASSERT_TRUE(changed && *changed);
  EXPECT_THAT(faults,
              ::testing::ElementsAre(
                  HasSubstr("npu: npu.rules:2: rule 'bad' at 'aten.relu.default': replaces float32["),
                  HasSubstr("rule 'worse' at 'aten.add.Tensor': argument 'dim0' of 'aten.transpose.int' "
                            "would be float")));
  ASSERT_TRUE(remove_dead_code(*module));  // nodes added for a replacement before it failed
  const size_t at = text.find("aten.sigmoid");
  EXPECT_EQ(ir::print(*module), std::string(text).replace(at, 12, "aten.tanh"));
  EXPECT_FALSE(apply_rules(*module, {&*set, 1}, RuleStage::kEdge))
      << "without anybody to tell it is an error";
}

TEST(Rules, DoNotGrowAGraphWithoutEnd) {
  std::string rules;
  for (int i = 0; i < 40; ++i)
    rules +=
        "rule r edge { %y = aten.relu.default(%x) } to { %a = aten.relu.default(%x)\n %y = "
        "aten.relu.default(%a) }\n";
  EXPECT_THAT(
      rewrite(rules, "  user %x: float32[2]\n  %y: float32[2] = aten.relu.default(%x)\n  return %y\n}\n")
          .text,
      HasSubstr("makes the graph grow to"));
}

TEST(Rules, SayWhatIsWrongWithAFile) {
  const std::pair<const char*, const char*> kRows[] = {
      {"nonsense", "r.txt: line 1 column 1: expected op or rule"},
      {"op my::f(Tensr x) -> Tensor",
       "line 1 column 1: op 'my::f(Tensr x) -> Tensor', character 11: no type 'Tensr'"},
      {"rule r late {", "found 'late', expected aten, edge or rest"},
      {"rule r edge { } to { }", "a pattern needs a node"},
      {"rule r edge {\n %y = aten.nope.default(%x) }", "line 2 column 7: unknown op 'aten.nope.default'"},
      {"rule r edge { %y = aten.relu.default() }", "aten.relu.default needs 'self'"},
      {"rule r edge { %y = aten.add_.Tensor(%x, %x) }", "writes to its arguments"},
      {"rule r edge { %y = aten.relu.out(%x, out=%x) }", "writes to its arguments"},
      {"rule r edge { %y = higher_order.cond.default(%x) }", "unknown op"},
      {"rule r edge { %a = aten.relu.default(%x)\n %y = aten.relu.default(%x) } to",
       "does not depend on 'aten.relu"},
      {"rule r edge { %x = aten.relu.default(%x) }", "used before"},
      {"rule r edge { %y = aten.relu.default(%x) } to { }", "no node of the replacement defines %y"},
      {"rule r edge { %y = aten.relu.default(%x) } to { %y = aten.relu.default(%z) }",
       "%z does not occur in the pattern"},
      {"rule r edge { %y = aten.relu.default(%x) } to { %y = aten.relu.default(%y) }",
       "%y does not occur in the pattern"},
      {"rule r edge { %y = aten.relu.default(%x) } to { %y = aten.mul.Scalar(%x, $k) }",
       "$k does not occur in the pattern"},
      {"rule r edge { %y = aten.relu.default(%x) } to { %y = aten.mul.Scalar(%x, _) }",
       "_ is allowed in patterns only"},
      {"rule r edge { %y = aten.relu.default(%x)\n where %q: float32[] }",
       "%q does not occur in the pattern"},
      {"rule r edge { %y = aten.relu.default(%x)\n where %y: flot[] }", "unknown type 'flot'"},
      {"op my::f(Tensor x) -> Tensor\nrule r edge { %y = aten.relu.default(%x) } to { %a = "
       "my.f.default(%x)\n %y = "
       "aten.relu.default(%a) }",
       "'my.f.default' cannot be inferred"},
  };
  for (const auto& [text, wanted] : kRows) {
    ops::CustomOps custom_ops;
    const auto set = RuleSet::parse(text, "r.txt", custom_ops);
    ASSERT_FALSE(set) << text;
    EXPECT_THAT(set.error().message, HasSubstr(wanted)) << text;
  }
  ops::CustomOps custom_ops;
  EXPECT_FALSE(RuleSet::parse(std::string(2 << 20, ' '), "r.txt", custom_ops));
}

TEST(Rules, ATruncatedFileIsRefusedOrWhole) {
  const std::string_view all(kSwish);
  for (size_t length = 0; length < all.size(); ++length) {
    ops::CustomOps custom_ops;
    const auto set = RuleSet::parse(all.substr(0, length), "r.txt", custom_ops);
    EXPECT_TRUE(!set || set->rules().size() <= 2u) << length;
  }
}

TEST(Rules, AreAppliedAtTheirStagesOfThePipeline) {
  auto custom_ops = std::make_shared<ops::CustomOps>();
  const auto set = RuleSet::parse(kSwish, "r.txt", *custom_ops);
  ASSERT_TRUE(set) << set.error().message;
  auto module = ir::parse(R"(etg 1
module "m"

graph @forward {
  user %x: float32[2, 3]
  %s: float32[2, 3] = aten.sigmoid.default(%x)
  %y: float32[2, 3] = aten.mul.Tensor(%x, %s)
  return %y
}
)");
  ASSERT_TRUE(module);
  module->custom_ops = custom_ops;
  PipelineOptions options;
  options.rules = {&*set, 1};
  std::vector<std::string> passes;
  options.after_pass = [&](std::string_view pass, ir::Module&) { passes.emplace_back(pass); };
  ASSERT_TRUE(to_edge(*module, options));
  EXPECT_THAT(ir::print(*module), HasSubstr("%y: float32[2, 3] = my.swish.default(%x)\n"));
  // Nodes that no plugin claimed are decomposed into ops with kernels: the number became a tensor.
  const Status done = to_portable(*module, options);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(ir::print(*module), ::testing::Not(HasSubstr("my.swish")));
  EXPECT_THAT(ir::print(*module), HasSubstr("aten.sigmoid.default"));
  for (const char* pass : {"rules_aten", "rules_edge", "rules_rest"})
    EXPECT_THAT(passes, ::testing::Contains(pass));
}

}  // namespace
}  // namespace etb::passes
