// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/watched_time.hpp"

#include <gtest/gtest.h>

namespace etb::conformance {
namespace {

constexpr uint64_t kStart = 1000, kMostStep = 200;

TEST(WatchedTime, AddsUpStepsOfBothTimes) {
  WatchedTime time(kStart, kMostStep);
  time.observe(kStart + 50);
  time.observe(kStart + 250);
  EXPECT_EQ(time.whole_ns(), 250u);
  EXPECT_EQ(time.part_ns(), 250u);
}

TEST(WatchedTime, ASuspendedMachineCostsOneStep) {
  WatchedTime time(kStart, kMostStep);
  time.observe(kStart + 1000000);
  EXPECT_EQ(time.whole_ns(), kMostStep);
  time.observe(kStart + 1000000 + 30);
  EXPECT_EQ(time.whole_ns(), kMostStep + 30);
}

TEST(WatchedTime, RestartsOnlyThePart) {
  WatchedTime time(kStart, kMostStep);
  time.observe(kStart + 100);
  time.restart();
  time.observe(kStart + 110);
  EXPECT_EQ(time.part_ns(), 10u);
  EXPECT_EQ(time.whole_ns(), 110u);
}

}  // namespace
}  // namespace etb::conformance
