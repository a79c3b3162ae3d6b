// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/source_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "partitioner_sdk/testing/inspector_fixture.hpp"

namespace etb::inspector {
namespace {

SourceProfile profile_of(SourceGrouping grouping) {
  const std::vector<format::EtdumpBlock> runs = {sample_run(), sample_run()};
  static const RecordIndex index = sample_index();
  auto profile = add_up_sources(runs, grouping, "Execute", 0, &index);
  EXPECT_TRUE(profile) << profile.error().message;
  return *std::move(profile);
}

std::map<std::string, double> times_of(const SourceProfile& profile) {
  std::map<std::string, double> out;
  for (const SourceRow& row : profile.rows) out[row.name] = row.average_us();
  return out;
}

TEST(SourceRows, LinesAddUpToTheRun) {
  const SourceProfile profile = profile_of(SourceGrouping::kLine);
  EXPECT_EQ(profile.run_count, 2u);
  EXPECT_DOUBLE_EQ(profile.run_us, 100);
  // The kernel of convolution and activation is divided between their lines.
  const std::map<std::string, double> expected = {{"model.py:3", 10},
                                                  {"model.py:5", 20},
                                                  {"model.py:6", 20},
                                                  {"model.py:7", 20},
                                                  {"(XnnpackBackend, outside of its events)", 10},
                                                  {"(copy, added by the compiler)", 5},
                                                  {"(run time between instructions)", 15}};
  EXPECT_EQ(times_of(profile), expected);
  for (const SourceRow& row : profile.rows) {
    EXPECT_EQ(row.shared_us, row.line == 5 || row.line == 6 ? 20 : 0) << row.name;
    if (row.line != 0) {
      EXPECT_EQ(row.file, "/home/me/model.py");
    }
  }
}

TEST(SourceRows, ModulesHaveTheTimeOfTheirParts) {
  const SourceProfile profile = profile_of(SourceGrouping::kModule);
  const std::map<std::string, double> times = times_of(profile);
  EXPECT_DOUBLE_EQ(times.at("body"), 40);
  EXPECT_DOUBLE_EQ(times.at("body.conv"), 20);
  EXPECT_DOUBLE_EQ(times.at("head"), 20);
  EXPECT_DOUBLE_EQ(times.at("(model)"), 70);
  for (const SourceRow& row : profile.rows) {
    if (row.name == "body") {
      EXPECT_DOUBLE_EQ(row.own_us.at(0), 20);
    }
    if (row.name == "(model)") {
      EXPECT_DOUBLE_EQ(row.own_us.at(0), 10);
    }
  }
}

TEST(SourceRows, NodesHaveTheirOps) {
  const SourceProfile profile = profile_of(SourceGrouping::kNode);
  const std::map<std::string, double> times = times_of(profile);
  EXPECT_DOUBLE_EQ(times.at("conv"), 20);
  EXPECT_DOUBLE_EQ(times.at("add"), 10);
  for (const SourceRow& row : profile.rows)
    if (row.name == "linear") {
      EXPECT_EQ(row.detail, "aten.linear.default");
    }
}

TEST(SourceRows, DelegatesHaveTheTimeOfTheirCalls) {
  const SourceProfile profile = profile_of(SourceGrouping::kDelegate);
  const std::map<std::string, double> expected = {{"XnnpackBackend at instruction 1", 70},
                                                  {"(portable kernels)", 15},
                                                  {"(run time between instructions)", 15}};
  EXPECT_EQ(times_of(profile), expected);
  EXPECT_DOUBLE_EQ(profile.rows[0].own_us.at(0), 10);
}

TEST(SourceRows, EventsOfAnotherClockStayWithinTheirCall) {
  format::EtdumpBlock run = sample_run();
  run.events[2].end_ns += 100'000;  // the convolution seems to last 140 us of a call of 70 us
  const RecordIndex index = sample_index();
  const auto profile = add_up_sources(std::vector{run}, SourceGrouping::kLine, "Execute", 0, &index);
  ASSERT_TRUE(profile);
  double sum = 0;
  for (const SourceRow& row : profile->rows) sum += row.average_us();
  EXPECT_NEAR(sum, 100, 1e-9);
}

}  // namespace
}  // namespace etb::inspector
