// SPDX-License-Identifier: Apache-2.0
// Tests every case: its name, its image, its reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "conformance/judge/reference.hpp"

namespace etb::conformance {
namespace {

TEST(Cases, NamesAreUniqueAndPlain) {
  std::set<std::string> names;
  for (const Case& item : all_cases()) {
    EXPECT_TRUE(names.insert(item.name).second) << item.name << " occurs twice";
    EXPECT_EQ(item.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._"), std::string::npos)
        << item.name;
    EXPECT_EQ(find_case(item.name), &item);
  }
}

TEST(Cases, EachBuildsAndHasAReference) {
  size_t failed = 0;
  for (const Case& item : all_cases()) {
    const Result<BuiltCase> built = item.build(item.name);
    if (!built) {
      ADD_FAILURE() << item.name << ": " << built.error().message;
      if (++failed > 20) return;
      continue;
    }
    for (size_t run = 0; run < built->runs.size(); ++run) {
      const auto reference = make_reference(*built, run);
      if (reference) continue;
      ADD_FAILURE() << item.name << ": " << reference.error().message;
      if (++failed > 20) return;
    }
  }
}

TEST(Cases, AreAPureFunctionOfTheirName) {
  for (size_t i = 0; i < all_cases().size(); i += 97) {
    const Case& item = all_cases()[i];
    const Result<BuiltCase> once = item.build(item.name), again = item.build(item.name);
    ASSERT_TRUE(once && again) << item.name;
    EXPECT_EQ(once->runs[0].size(), again->runs[0].size());
    for (size_t k = 0; k < once->runs[0].size(); ++k)
      EXPECT_EQ(once->runs[0][k].bytes, again->runs[0][k].bytes) << item.name;
  }
}

TEST(Cases, PatternsHaveStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_pattern("op.add.f32.exact", "op.*.exact"));
  EXPECT_TRUE(matches_pattern("op.add.f32.exact", "op.a??.*"));
  EXPECT_FALSE(matches_pattern("op.add.f32.exact", "op.add"));
  EXPECT_TRUE(matches_pattern("a", "***a***"));
}

}  // namespace
}  // namespace etb::conformance
