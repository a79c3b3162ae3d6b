// SPDX-License-Identifier: Apache-2.0
// Tests the parts of reports: units, tables, profiles, and the derived figures.
#include "tools/bench/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/bench/profile.hpp"
#include "tools/bench/table.hpp"

namespace etb::bench {
namespace {

using testing::HasSubstr;

TEST(Units, HaveThreeDigits) {
  EXPECT_EQ(format_us(0.0123), "12.3 ns");
  EXPECT_EQ(format_us(0.812), "812 ns");
  EXPECT_EQ(format_us(12.34), "12.3 us");
  EXPECT_EQ(format_us(999.96), "1.00 ms");
  EXPECT_EQ(format_us(1234), "1.23 ms");
  EXPECT_EQ(format_us(4.5e6), "4.50 s");
  EXPECT_EQ(format_us(0), "0");
  EXPECT_EQ(format_bytes(812), "812 B");
  EXPECT_EQ(format_bytes(110592), "108 KiB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(format_rate(0.0456), "0.0456");
  EXPECT_EQ(format_rate(1234), "1.23 k");
  EXPECT_EQ(format_percent(0.123), "12.3 %");
}

TEST(Table, AlignsTextLeftAndNumbersRight) {
  Table table({"<NAME", "TIME"});
  table.add({"a", "1 us"});
  table.add({"long|name", "10 us"});
  EXPECT_EQ(table.to_text(), "NAME        TIME\na           1 us\nlong|name  10 us\n");
  EXPECT_EQ(table.to_markdown(), "| NAME | TIME |\n|---|---:|\n| a | 1 us |\n| long\\|name | 10 us |\n");
}

TEST(Table, EscapesHostileText) {
  Table table({"<NAME"});
  table.add({"\x1b[31m\n"});
  EXPECT_EQ(table.to_text(), "NAME\n\\x1b[31m\\x0a\n");
}

TEST(ReportFormat, FollowsTheEndingOfTheFile) {
  EXPECT_EQ(format_of("a/b.json"), "json");
  EXPECT_EQ(format_of("b.jsonl"), "jsonl");
  EXPECT_EQ(format_of("b.csv"), "csv");
  EXPECT_EQ(format_of("b.md"), "markdown");
  EXPECT_EQ(format_of("b"), "text");
}

void put(Profile& profile, int32_t instruction, const char* name, uint64_t begin, uint64_t end) {
  const etb_event_sink* sink = profile.delegate_events(0, instruction);
  etb_event event{};
  event.struct_size = sizeof(event);
  event.name = name;
  event.begin_ticks = begin;
  event.end_ticks = end;
  event.ns_numerator = 1000;  // microseconds
  event.ns_denominator = 1;
  EXPECT_EQ(sink->put(sink->ctx, &event), ETB_OK);
}

TEST(Profile, AddsUpOperatorsAndDelegates) {
  Profile profile;
  for (int run = 0; run < 2; ++run) {
    using host::EventKind;
    profile.on_event({EventKind::kKernel, "aten::add.out", 0, 0, 0, 1000});
    put(profile, 1, "conv", 0, 3);
    put(profile, 1, "relu", 3, 4);
    profile.on_event({EventKind::kDelegate, "XnnpackBackend", 0, 1, 1000, 6000});
    profile.on_event({EventKind::kMove, "", 0, 2, 6000, 6100});
    profile.on_event({EventKind::kKernel, "aten::add.out", 0, 3, 6100, 7100});
    profile.on_event({EventKind::kExecute, "forward", -1, -1, 0, 10000});
  }
  const std::vector<ProfileRow> rows = profile.rows();
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].name, "XnnpackBackend (instruction 1)");
  EXPECT_EQ(rows[0].kind, "delegate");
  EXPECT_DOUBLE_EQ(rows[0].us, 5);
  EXPECT_DOUBLE_EQ(rows[0].share, 0.5);
  EXPECT_EQ(rows[1].name, "conv");
  EXPECT_EQ(rows[1].kind, "event");
  EXPECT_DOUBLE_EQ(rows[1].us, 3);
  EXPECT_EQ(rows[2].name, "relu");
  EXPECT_EQ(rows[3].name, "aten::add.out");
  EXPECT_DOUBLE_EQ(rows[3].calls, 2);
  EXPECT_DOUBLE_EQ(rows[3].us, 2);
  EXPECT_EQ(rows[4].kind, "runtime");
  EXPECT_DOUBLE_EQ(rows[4].us, 3);
  profile.clear();
  EXPECT_DOUBLE_EQ(profile.rows()[0].us, 0);
}

// Results of two variants; each sample has one run that the system paused.
Results two_variants(double us, double baseline_us) {
  Results results;
  results.list.variants.resize(2);
  results.list.variants[1].parallel = 2;
  results.list.baselines = {1, std::nullopt};
  results.variants.resize(2);
  for (int i = 0; i < 6; ++i) {
    results.variants[0].turns.push_back({{us, us, 50 * us}, 3 * us, 52 * us, 0, {}});
    results.variants[1].turns.push_back(
        {{baseline_us, 50 * baseline_us, baseline_us}, 3 * baseline_us, 26 * baseline_us, 0, {}});
  }
  return results;
}

TEST(Results, ComparesMediansOfSamplesAndDividesSimultaneousRuns) {
  Results results = two_variants(10, 20);
  evaluate(Options{}, results);
  const VariantResult &first = results.variants[0], &second = results.variants[1];
  ASSERT_TRUE(first.ratio.has_value());
  EXPECT_NEAR(first.ratio->ratio, 1, 1e-12);  // 10 us against 20 us of two runs at the same time
  EXPECT_EQ(first.ratio->pair_count, 6u);
  EXPECT_FALSE(second.ratio.has_value());
  EXPECT_EQ(first.summary.count, 18u);
  EXPECT_DOUBLE_EQ(first.cpu_us, 10);
  EXPECT_NEAR(first.runs_per_second, 1e6 * 3 / 520, 1e-6);
  EXPECT_NEAR(second.runs_per_second, 1e6 * 3 / 520, 1e-6);
  // A pause during one run is no noise of the samples.
  EXPECT_GT(first.summary.variation, 1);
  EXPECT_DOUBLE_EQ(first.sample_variation, 0);
  EXPECT_TRUE(results.warnings.empty());
  results.variants[0].turns[2].wall_us = {20, 20, 20};
  evaluate(Options{}, results);
  EXPECT_THAT(results.warnings, testing::Contains(HasSubstr("noisy: the samples of ''")));
}

TEST(Results, WarnOfOtherProcesses) {
  Results results = two_variants(10, 20);
  results.other_processors = 0.5;
  results.is_interrupted = true;
  evaluate(Options{}, results);
  EXPECT_THAT(results.warnings, testing::Contains(HasSubstr("other processes used 0.5")));
  EXPECT_THAT(results.warnings, testing::Contains(HasSubstr("interrupted")));
}

}  // namespace
}  // namespace etb::bench
