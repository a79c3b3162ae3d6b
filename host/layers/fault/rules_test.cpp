// SPDX-License-Identifier: Apache-2.0
#include "host/layers/fault/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace etb::host::fault {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  const Result<Rules> rules = parse_rules(text);
  return rules ? "accepted" : rules.error().message;
}

TEST(FaultRules, AreParsed) {
  const Result<Rules> rules =
      parse_rules("out-of-memory,at=delegate.create,at=aot.*,nth=2+delay,ms=5,chance=0.25+seed=42");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->rules.size(), 2u);
  EXPECT_EQ(rules->rules[0].action, Action::OUT_OF_MEMORY);
  EXPECT_THAT(rules->rules[0].functions, ElementsAre("delegate.create", "aot.*"));
  EXPECT_EQ(rules->rules[0].nth, 2u);
  EXPECT_EQ(rules->rules[1].ms, 5u);
  EXPECT_EQ(rules->rules[1].chance, 0.25);
  EXPECT_THAT(rules->rules[1].functions, ElementsAre("delegate.execute*"));
  EXPECT_EQ(rules->seed, 42u);
  EXPECT_TRUE(rules->has_seed);
  const Result<Rules> none = parse_rules("");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->rules.empty());
  const Result<Rules> status = parse_rules("status,status=invalid-data,from=3,every=2");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->rules[0].status, ETB_INVALID_DATA);
}

TEST(FaultRules, NameTheAlternatives) {
  EXPECT_THAT(refusal("explode"),
              HasSubstr("rule 'explode', expected seed=N or one of out-of-memory, device-lost"));
  EXPECT_THAT(refusal("delay,speed=3"), HasSubstr("key 'speed', expected one of at, nth, from"));
  EXPECT_THAT(refusal("delay,fast"), HasSubstr("'fast', expected KEY=VALUE"));
  EXPECT_THAT(refusal("delay,at=delegate.run"),
              HasSubstr("matches no function, expected one of plugin.init"));
  EXPECT_THAT(refusal("status,status=bad"), HasSubstr("expected one of ok, internal, invalid-state"));
  EXPECT_THAT(refusal("delay,nth=0"), HasSubstr("nth='0', expected a whole number from 1"));
  EXPECT_THAT(refusal("delay,nth=-1"), HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal("delay,chance=2"), HasSubstr("chance='2', expected a number from 0 to 1"));
  EXPECT_THAT(refusal("delay,chance=nan"), HasSubstr("expected a number from 0 to 1"));
  EXPECT_THAT(refusal("seed=x"), HasSubstr("seed='x'"));
  EXPECT_THAT(refusal("+"), HasSubstr("rule ''"));
}

TEST(FaultRules, AreDueAtTheirCalls) {
  Rule rule;
  const auto due = [&] {
    std::string text;
    for (uint64_t count = 1; count <= 6; ++count) text += is_due(rule, count) ? 'x' : '.';
    return text;
  };
  EXPECT_EQ(due(), "xxxxxx");
  rule.nth = 3;
  EXPECT_EQ(due(), "..x...");
  rule.nth = 0;
  rule.from = 4;
  EXPECT_EQ(due(), "...xxx");
  rule.from = 0;
  rule.every = 2;
  EXPECT_EQ(due(), ".x.x.x");
}

// The page lists every action and key.
TEST(FaultRules, ThePageHasEachRow) {
  std::ifstream in(std::string(ETB_SOURCE_DIR) + "/docs/layers.md");
  const std::string page((std::istreambuf_iterator<char>(in)), {});
#define ETB_FAULT(name, text, functions, description) \
  EXPECT_THAT(page, HasSubstr("| `" text "` | " description " |"));
#include "host/layers/fault/actions.def"
#undef ETB_FAULT
#define ETB_FAULT_KEY(key, value, description) \
  EXPECT_THAT(page, HasSubstr("| `" key "=" value "` | " description " |"));
#include "host/layers/fault/keys.def"
#undef ETB_FAULT_KEY
}

}  // namespace
}  // namespace etb::host::fault
