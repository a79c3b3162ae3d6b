// SPDX-License-Identifier: Apache-2.0
// Tests that the verifier reports each broken rule.
#include "partitioner_sdk/ir/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "partitioner_sdk/ir/text.hpp"

namespace etb::ir {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGood = R"(etg 1
module "m"
constant "w": float32[2] = [1, 2]

graph @forward {
  parameter %w: float32[2] = "w" as "w"
  user %x: float32[2]
  %y: float32[2] = aten.add.Tensor(%x, %w)
  %z: float32[2] = aten.neg.default(%y)
  return %z
}
)";

// Each rule, and a change that breaks it.
const std::vector<std::pair<std::string, std::function<void(Module&)>>>& breakers() {
  static const std::vector<std::pair<std::string, std::function<void(Module&)>>> list = {
      {"graphs", [](Module& m) { m.main().nodes[0].args[1] = GraphRef{0}; }},
      {"one-definition", [](Module& m) { std::swap(m.main().nodes[0], m.main().nodes[1]); }},
      {"known-ops", [](Module& m) { m.main().nodes[1].op = m.op("mine.unheard_of.default"); }},
      {"arguments", [](Module& m) { m.main().nodes[0].args[2] = std::string("two"); }},
      {"results", [](Module& m) { m.main().nodes[1].outputs.push_back(m.main().add_value({})); }},
      {"specs", [](Module& m) { m.main().values[2].spec.strides.clear(); }},
      {"inputs", [](Module& m) { m.constants[0].dtype = Dtype::INT32; }},
      {"symbols", [](Module& m) { m.symbols.floor_div(1, 0); }},
  };
  return list;
}

TEST(Verify, AcceptsAGoodModule) {
  auto module = parse(kGood);
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_TRUE(verify(*module));
}

TEST(Verify, AListIsTheLastResult) {
  const auto verified = [](const std::string& results) {
    auto module = parse("etg 1\nmodule \"m\"\n\ngraph @forward {\n  user %x: float32[9, 2]\n  " + results +
                        " = aten.histogramdd.default(%x, [2, 3])\n  return %x\n}\n");
    return module ? static_cast<bool>(verify(*module)) : false;
  };
  EXPECT_TRUE(verified("[%h: float32[2, 3], %a: float32[3], %b: float32[4]]"));
  EXPECT_TRUE(verified("%h: float32[2, 3]"));
  EXPECT_FALSE(verified("[]"));
}

TEST(Verify, EachRuleFindsWhatBreaksIt) {
  ASSERT_EQ(breakers().size(), verifier_rules().size());
  for (size_t i = 0; i < breakers().size(); ++i) {
    const auto& [id, break_it] = breakers()[i];
    EXPECT_EQ(id, verifier_rules()[i].id);
    auto module = parse(kGood);
    ASSERT_TRUE(module);
    break_it(*module);
    const Status status = verify(*module);
    ASSERT_FALSE(status) << id;
    EXPECT_THAT(status.error().message, HasSubstr(id + ": "));
  }
}

TEST(Verify, NamesNodeAndSource) {
  auto module = parse(kGood);
  ASSERT_TRUE(module);
  module->main().nodes[0].source = module->add_source({"model.py", 7, "forward", "", ""});
  module->main().nodes[0].args[0] = Nothing{};
  const Status status = verify(*module);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message,
              HasSubstr("@forward: aten.add.Tensor (model.py:7 in forward): argument 'self'"));
}

}  // namespace
}  // namespace etb::ir
