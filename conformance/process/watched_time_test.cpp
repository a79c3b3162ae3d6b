// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/watched_time.hpp"

#include <gtest/gtest.h>

#include "conformance/process/processor_share.hpp"

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

TEST(WatchedTime, CountsThePartOfAProcessorThatABusyMachineGives) {
  EXPECT_EQ(processor_share_of("0.10 0.20 0.30 1/106 24898\n", 2), 1);
  EXPECT_EQ(processor_share_of("3.06 5.35 8.77 4/106 24898\n", 2), 1);
  EXPECT_EQ(processor_share_of("30.1 20.0 9.00 16/106 24898\n", 2), 0.25);
  EXPECT_EQ(processor_share_of("30.1 20.0 9.00 900/906 24898\n", 2), 1.0 / 16);
  for (const char* const text : {"", "1 2", "1 2 3", "1 2 3 ", "1 2 3 x/2", "1 2 3 0/9"})
    EXPECT_EQ(processor_share_of(text, 2), 1) << text;
  WatchedTime time(0, 1000);
  time.observe(100, 0.25);
  EXPECT_EQ(time.whole_ns(), 25u);
}

}  // namespace
}  // namespace etb::conformance
