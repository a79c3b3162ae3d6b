// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/number_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etb::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const NumberBounds kThreads{0, 1024, "0: all processors"};

TEST(NumberList, ReadsNumbersAndRanges) {
  EXPECT_THAT(*parse_numbers("7", kThreads), ElementsAre(7));
  EXPECT_THAT(*parse_numbers("0", kThreads), ElementsAre(0));
  EXPECT_THAT(*parse_numbers("1-4", kThreads), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(*parse_numbers("2-9+3", kThreads), ElementsAre(2, 5, 8));
  EXPECT_THAT(*parse_numbers("1-8*2", kThreads), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(*parse_numbers("3-100*10", kThreads), ElementsAre(3, 30));
  EXPECT_THAT(*parse_numbers("5-5*1", kThreads), ElementsAre(5));
}

TEST(NumberList, RefusesTheRest) {
  for (const char* word : {"", "-1", "a", "1-", "1-2-3", "1-4+", "1-4/2", "4-1", "1-4+0", "1-4*1", "0-4*2",
                           "1025", "1-1025", "4294967297", "1-99999999999999999999", "1 -2", "1-4*2x"}) {
    const auto numbers = parse_numbers(word, kThreads);
    ASSERT_FALSE(numbers.has_value()) << word;
    EXPECT_THAT(numbers.error().message, HasSubstr("found '" + std::string(word) + "', expected 0 to 1024"));
    EXPECT_THAT(numbers.error().message, HasSubstr("(0: all processors), or a range such as 1-4"));
  }
  const auto many = parse_numbers("0-1024", kThreads);
  ASSERT_FALSE(many.has_value());
  EXPECT_THAT(many.error().message, HasSubstr("more than 1024 numbers"));
}

}  // namespace
}  // namespace etb::bench
