// SPDX-License-Identifier: Apache-2.0
// Tests the validation of a plugin's answers.
#include "partitioner_sdk/partition/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "etb/aot.h"

namespace etb::partition {
namespace {

using testing::HasSubstr;

std::string fault_of(const Answers& answers, size_t node_count) {
  const auto got = verify_answers(answers, node_count);
  return got ? "" : got.error().message;
}

TEST(Answers, EachNodeOnce) {
  Answers answers;
  answers.claims = {{{0, 2}, 0, 0, 1.5}};
  answers.rejects = {{{1}, "op", "not mine"}};
  const auto got = verify_answers(answers, 3);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE((*got)[0].is_claimed);
  EXPECT_FALSE((*got)[1].is_claimed);
  EXPECT_TRUE((*got)[2].is_claimed);
}

TEST(Answers, WhatIsWrongIsNamed) {
  EXPECT_THAT(fault_of({{{{7}, 0, 0, 0}}, {}}, 3), HasSubstr("claims node 7"));
  EXPECT_THAT(fault_of({{{{0, 0}, 0, 0, 0}}, {}}, 1), HasSubstr("claims node 0, which it claims already"));
  EXPECT_THAT(fault_of({{{{0}, 0, 0, 0}}, {{{0}, "op", ""}}}, 1),
              HasSubstr("rejects node 0, which it claims already"));
  EXPECT_THAT(fault_of({{{{0}, 0, 0, 0}}, {}}, 2), HasSubstr("neither claims nor rejects node 1"));
  EXPECT_THAT(fault_of({{}, {{{0}, "", "why"}}}, 1), HasSubstr("without a reason"));
  EXPECT_THAT(fault_of({{{{0}, 0x80, 0, 0}}, {}}, 1), HasSubstr("unknown flags 128"));
  EXPECT_THAT(fault_of({{{{0}, 0, 0, -1}}, {}}, 1), HasSubstr("costs"));
  EXPECT_THAT(fault_of({{{{0}, 0, 0, std::numeric_limits<double>::quiet_NaN()}}, {}}, 1), HasSubstr("costs"));
  EXPECT_THAT(fault_of({{{{0}, 0, 5, 0}, {{1}, ETB_CLAIM_WHOLE_GROUP, 5, 0}}, {}}, 2),
              HasSubstr("group 5 differ in their flags"));
}

}  // namespace
}  // namespace etb::partition
