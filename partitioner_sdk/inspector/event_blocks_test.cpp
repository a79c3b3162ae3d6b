// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/event_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/inspector/allocator_rows.hpp"
#include "partitioner_sdk/testing/inspector_fixture.hpp"

namespace etb::inspector {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

std::vector<std::string> names_of(const InspectedBlock& block) {
  std::vector<std::string> out;
  for (const InspectedEvent& event : block.events) out.push_back(event.name);
  return out;
}

// The rows of the official Inspector for the same files.
TEST(EventBlocks, EqualRunsAreOneBlock) {
  const auto profile = official_profile("net_xnnpack.etdp");
  const RecordIndex index = official_index("net_xnnpack.etrecord");
  const auto blocks = inspect_blocks(profile, &index, {});
  ASSERT_TRUE(blocks) << blocks.error().message;
  ASSERT_EQ(blocks->size(), 2u);
  EXPECT_THAT(names_of((*blocks)[0]), ElementsAre("Method::init", "Program::load_method"));
  const InspectedBlock& runs = (*blocks)[1];
  EXPECT_EQ(runs.run_count, 3u);
  EXPECT_EQ(runs.method, "forward");
  ASSERT_EQ(runs.events.size(), 10u);
  EXPECT_EQ(runs.events[1].name, "Convolution (NHWC, F32) IGEMM #1");
  EXPECT_TRUE(runs.events[1].is_inside_delegate);
  EXPECT_EQ(runs.events[3].name, "DELEGATE_CALL");
  EXPECT_EQ(runs.events[3].times.size(), 3u);
  EXPECT_EQ(runs.events[3].origin.nodes.size(), 4u);
  EXPECT_EQ(runs.events[3].values.size(), 2u);
  EXPECT_TRUE((*blocks)[0].events[0].origin.debug_handles.empty());  // loading is of no node
}

TEST(EventBlocks, TimesAreInTheTargetScale) {
  const std::vector<format::EtdumpBlock> runs = {sample_run(), sample_run()};
  const auto us = inspect_blocks(runs, nullptr, {TimeScale::kNs, TimeScale::kUs});
  ASSERT_TRUE(us);
  EXPECT_THAT((*us)[0].events[0].times, ElementsAre(DoubleEq(9), DoubleEq(9)));
  EXPECT_THAT((*us)[0].events[1].start_times, ElementsAre(0u, 0u));
  const auto skipped = inspect_blocks(runs, nullptr, {TimeScale::kNs, TimeScale::kMs, 1});
  EXPECT_THAT((*skipped)[0].events[0].times, ElementsAre(DoubleEq(0.009)));
}

TEST(EventBlocks, AClockOf32BitsMayStartAgain) {
  format::EtdumpBlock run;
  run.name = "Execute";
  run.events = {event("OPERATOR_CALL", 0, 0, 0, 0)};
  run.events[0].begin_ns = UINT32_MAX - 9;
  run.events[0].end_ns = 20;
  const auto blocks = inspect_blocks(std::vector{run}, nullptr, {TimeScale::kNs, TimeScale::kNs});
  EXPECT_THAT((*blocks)[0].events[0].times, ElementsAre(DoubleEq(30)));
}

TEST(EventBlocks, AnEventThatALoopRepeatsIsAddedUp) {
  format::EtdumpBlock run = sample_run();
  run.events.insert(run.events.begin() + 2, event("OPERATOR_CALL", 0, 0, 0, 7));
  const auto blocks = inspect_blocks(std::vector{run}, nullptr, {TimeScale::kNs, TimeScale::kUs});
  EXPECT_THAT((*blocks)[0].events[1].times, ElementsAre(DoubleEq(17)));
}

TEST(EventBlocks, TheTotalOfAModuleCountsEachTimeOnce) {
  const std::vector<format::EtdumpBlock> runs = {sample_run(), sample_run()};
  const RecordIndex index = sample_index();
  const auto blocks = inspect_blocks(runs, &index, {TimeScale::kNs, TimeScale::kUs});
  ASSERT_TRUE(blocks) << blocks.error().message;
  EXPECT_DOUBLE_EQ(find_total_for_module(*blocks, "body"), 40);
  EXPECT_DOUBLE_EQ(find_total_for_module(*blocks, "head"), 20);
  EXPECT_DOUBLE_EQ(find_total_for_module(*blocks, "nowhere"), 0);
}

TEST(EventBlocks, QuantilesAreThoseOfNumPy) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2, 4}, 0.1), 1.3);
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2, 4}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(scale_factor(TimeScale::kNs, TimeScale::kMs), 1e6);
  EXPECT_EQ(find_time_scale("cycles"), TimeScale::kCycles);
  EXPECT_FALSE(find_time_scale("minutes"));
}

TEST(EventBlocks, AllocationsAreAddedUpByAllocator) {
  format::EtdumpBlock load;
  load.name = "Default";
  load.allocators = {"method", "temp"};
  load.allocations = {{0, 100, 0}, {0, 28, 1}, {1, 7, 2}, {5, 1, 3}};
  const std::vector<AllocatorRow> rows = add_up_allocations(std::vector{load});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "method");
  EXPECT_EQ(rows[0].nbytes, 128u);
  EXPECT_EQ(rows[0].largest_nbytes, 100u);
  EXPECT_EQ(rows[2].name, "allocator 5");
}

}  // namespace
}  // namespace etb::inspector
