// SPDX-License-Identifier: Apache-2.0
// Tests options of `etbackend bench` that other benchmark programs have, too: ranges, methods, counters, items,
// placement of threads, SQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "tools/bench/counters.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}

CliRun bench(std::vector<std::string> args) {
  for (const char* word : {"--samples", "2", "--repeat", "3", "--warmup", "1"}) args.emplace_back(word);
  args.insert(args.begin(), "bench");
  return cli(args);
}

Json measured(std::vector<std::string> args) {
  args.emplace_back("--json");
  const CliRun run = bench(args);
  EXPECT_EQ(run.exit, 0) << run.err;
  return Json::parse(run.out, nullptr, false);
}

TEST(BenchOptions, RangesOfThreads) {
  const CliRun run = bench({fixture("add.pte"), "--threads", "1-4*2,3", "--parallel", "1-2", "--list"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out,
            "add.pte threads=1 parallel=1\nadd.pte threads=2 parallel=1\nadd.pte threads=4 parallel=1\n"
            "add.pte threads=3 parallel=1\nadd.pte threads=1 parallel=2\nadd.pte threads=2 parallel=2\n"
            "add.pte threads=4 parallel=2\nadd.pte threads=3 parallel=2\n");
  EXPECT_THAT(bench({fixture("add.pte"), "--threads", "4-1"}).err, HasSubstr("--threads: found '4-1'"));
}

TEST(BenchOptions, AllMethodsOfAProgram) {
  const Json report = measured({fixture("methods.pte"), "--method", "*", "--against", "method=encode"});
  ASSERT_GE(report["variants"].size(), 2u);
  std::vector<std::string> labels;
  for (const Json& variant : report["variants"]) {
    EXPECT_EQ(variant["status"], "ok");
    EXPECT_EQ(variant["label"], "methods.pte " + variant["method"].get<std::string>());
    EXPECT_EQ(variant.contains("against"), variant["method"] != "encode");
    labels.push_back(variant["label"]);
  }
  EXPECT_THAT(labels, testing::Contains("methods.pte encode"));
  EXPECT_EQ(measured({fixture("methods.pte"), "--method", "encode"})["variants"].size(), 1u);
  const CliRun twice = bench({fixture("methods.pte"), "--method", "encode,encode"});
  EXPECT_THAT(twice.err, HasSubstr("listed twice"));
}

TEST(BenchOptions, ItemsPerSecond) {
  const Json variant = measured({fixture("add.pte"), "--items", "128"})["variants"][0];
  EXPECT_NEAR(variant["items_per_s"].get<double>() / variant["runs_per_s"].get<double>(), 128, 1e-6);
  EXPECT_THAT(bench({fixture("add.pte"), "--items", "128"}).out, HasSubstr("ITEMS/S"));
  EXPECT_THAT(bench({fixture("add.pte")}).out, Not(HasSubstr("ITEMS/S")));
}

// Software counters exist on each Linux that allows perf_event_open.
TEST(BenchOptions, CountersOfARun) {
  if (const auto opened = bench::Counters::open({"page-faults"}); !opened) {
    EXPECT_THAT(opened.error().message, HasSubstr("counter 'page-faults': "));
    GTEST_SKIP() << opened.error().message;
  }
  const Json variant =
      measured({fixture("add.pte"), "--counters", "page-faults,context-switches"})["variants"][0];
  EXPECT_GE(variant["counters"]["page-faults"], 0);
  EXPECT_GE(variant["counters"]["context-switches"], 0);
  const CliRun text = bench({fixture("add.pte"), "--counters", "page-faults"});
  EXPECT_THAT(text.out, HasSubstr("Counters of a run"));
  EXPECT_THAT(text.out, HasSubstr("page-faults"));
  EXPECT_THAT(bench({fixture("add.pte"), "--counters", "page-fault"}).err, HasSubstr("nearest: page-faults"));
}

TEST(Counters, CountThreadsThatStartLater) {
  const auto counters = bench::Counters::open({"page-faults"});
  if (!counters) GTEST_SKIP() << counters.error().message;
  const double before = counters->read()[0];
  constexpr size_t kPages = 1000, kPageBytes = 4096;
  std::thread([] {
    auto memory = std::make_unique_for_overwrite<volatile char[]>(kPages * kPageBytes);
    for (size_t i = 0; i < kPages; ++i) memory[i * kPageBytes] = 1;
  }).join();
  EXPECT_GT(counters->read()[0], before);
}

TEST(BenchOptions, WarmsUpForATime) {
  const Json report = measured({fixture("add.pte"), "--warmup-time", "0.05"});
  EXPECT_EQ(report["settings"]["warmup_time_s"], 0.05);
  EXPECT_GE(report["seconds"], 0.1);  // of two samples
  EXPECT_EQ(report["variants"][0]["runs"], 6);
}

TEST(BenchOptions, PlaceOfThreads) {
  const Json report = measured({fixture("add.pte"), "--threads", "2", "--pin-threads", "--no-spin"});
  EXPECT_EQ(report["settings"]["pins_threads"], true);
  EXPECT_EQ(report["settings"]["spins"], false);
  const CliRun unknown = bench({fixture("add.pte"), "--numa-node", "1023"});
  EXPECT_THAT(unknown.err, HasSubstr("NUMA node 1023: it has no processors"));
  EXPECT_EQ(unknown.exit, static_cast<int>(ExitCode::USAGE));
}

TEST(BenchOptions, SqlHasATableAndARowForEachVariant) {
  const CliRun run =
      bench({fixture("add.pte"), fixture("conv.pte"), "--format", "sql", "--percentiles", "99.9"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out,
              testing::StartsWith("CREATE TABLE IF NOT EXISTS etbackend_bench (\n  \"date\" TEXT,\n"));
  EXPECT_THAT(run.out, HasSubstr("  \"p99.9_us\" REAL,\n"));
  size_t rows = 0;
  for (size_t at = 0; (at = run.out.find("INSERT INTO etbackend_bench (\"date\", ", at)) != std::string::npos;
       ++at)
    ++rows;
  EXPECT_EQ(rows, 2u);
  EXPECT_THAT(run.out, HasSubstr("'conv.pte'"));
  EXPECT_THAT(run.out, HasSubstr(", NULL, "));  // no compilation was measured
}

TEST(BenchOptions, SqlQuotesTexts) {
  const CliRun run = bench({fixture("add.pte"), "--method", "it's", "--format", "sql"});
  EXPECT_THAT(run.out, HasSubstr("it''s"));
}

}  // namespace
}  // namespace etb::tools
