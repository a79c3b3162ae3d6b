// SPDX-License-Identifier: Apache-2.0
#include "api/format/time_left.hpp"

#include <gtest/gtest.h>

namespace etb::format {
namespace {

TEST(TimeLeft, DurationsHaveAtMostTwoUnits) {
  EXPECT_EQ(duration_text(-1), "0 s");
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(89.4), "89 s");
  EXPECT_EQ(duration_text(90), "2 min");
  EXPECT_EQ(duration_text(59 * 60), "59 min");
  EXPECT_EQ(duration_text(3600), "1 h");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
}

TEST(TimeLeft, IsEstimatedFromTheDonePart) {
  EXPECT_EQ(time_left_text(10, 50, 100), ", about 10 s left");
  EXPECT_EQ(time_left_text(60, 10, 100), ", about 9 min left");
}

TEST(TimeLeft, IsNotGuessed) {
  EXPECT_EQ(time_left_text(1.9, 50, 100), "");
  EXPECT_EQ(time_left_text(10, 0, 100), "");
  EXPECT_EQ(time_left_text(10, 1, 100), "");
  EXPECT_EQ(time_left_text(10, 100, 100), "");
}

}  // namespace
}  // namespace etb::format
