// SPDX-License-Identifier: Apache-2.0
#include "host/layers/layer_kinds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

using ::testing::HasSubstr;

const std::vector<LayerKind>& kinds() {
  static const std::vector<LayerKind> kAll = {kTraceKind, kValidateKind, kFaultKind, kCompareKind};
  return kAll;
}

std::string refusal(const std::vector<std::string>& texts) {
  const Result<LayerSet> set = LayerSet::make(texts, kinds(), {[](const std::string&) {}, {}, ""});
  return set ? "accepted" : set.error().message;
}

TEST(LayerSet, IsInTheOrderOfItsTexts) {
  const ScratchDir dir;
  const std::vector<std::string> texts = {"validate:strict", "trace", "trace=" + dir.path("a:b=c.etbt")};
  const Result<LayerSet> set = LayerSet::make(texts, kinds(), {[](const std::string&) {}, {}, ""});
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->layers().size(), 3u);
  EXPECT_STREQ(set->layers()[0].name, "validate");
  EXPECT_STREQ(set->layers()[1].name, "trace");
  EXPECT_TRUE(std::filesystem::exists(dir.path("a:b=c.etbt")));
}

TEST(LayerSet, RefusesWithTheAlternatives) {
  EXPECT_THAT(
      refusal({"sandbox"}),
      HasSubstr("layer 'sandbox', expected trace[=FILE], validate[:strict][:guard-pages], fault=RULES or "));
  EXPECT_THAT(refusal({"fault=explode"}), HasSubstr("rule 'explode', expected seed=N or one of"));
  EXPECT_THAT(refusal({"compare"}), HasSubstr("expected =PLUGIN"));
  EXPECT_THAT(refusal({"compare=x,speed=3"}), HasSubstr("expected atol=NUMBER"));
  EXPECT_THAT(refusal({"compare=portable"}), HasSubstr("hint: add graphs=FILE"));
  EXPECT_THAT(refusal({"compare=x"}), HasSubstr("this application offers no other plugins"));
  EXPECT_THAT(refusal({"validate:loose"}), HasSubstr("found 'loose', expected strict or guard-pages"));
  EXPECT_THAT(refusal({"trace", "trace"}), HasSubstr("expected each layer once"));
  EXPECT_THAT(refusal({"trace=/nonexistent/x.etbt"}), HasSubstr("/nonexistent/x.etbt"));
}

}  // namespace
}  // namespace etb::host
