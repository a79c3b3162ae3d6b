// SPDX-License-Identifier: Apache-2.0
// Tests what the reports of `etbackend verify` say: circumstances and seed, what was not tested, labels, stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "conformance/report/results.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using conformance::Outcome;
using conformance::Results;
using conformance::State;
using testing::HasSubstr;
using testing::Not;

std::string library(const std::string& name) {
  return std::string(ETB_FAULT_DIR) + "/" + name + "/" + name + ".so";
}

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Results verify(std::vector<std::string> args, CliRun* out_run = nullptr) {
  const host::ScratchDir dir;
  args.insert(args.begin(), "verify");
  args.insert(args.end(), {"--results", dir.path("r.jsonl")});
  const CliRun run = cli(args);
  if (out_run != nullptr) *out_run = run;
  const Result<Results> results = conformance::read_results(dir.path("r.jsonl"));
  EXPECT_TRUE(results) << run.err << run.out;
  return results ? *results : Results{};
}

TEST(VerifyReports, TheHeadHasTheCircumstances) {
  CliRun run;
  const Results results = verify({"portable", "--case", "op.neg.f32.7.stat"}, &run);
  EXPECT_EQ(results.header.date.size(), std::string("2026-01-31T00:00:00Z").size()) << results.header.date;
  EXPECT_THAT(results.header.host, HasSubstr("; Linux "));
  EXPECT_THAT(results.header.command, HasSubstr("verify portable --case op.neg.f32.7.stat"));
  EXPECT_EQ(results.header.suite_digest.size(), 64u);
  EXPECT_EQ(results.header.seed, 0u);
  EXPECT_THAT(run.out, HasSubstr("run: " + results.header.date));
  EXPECT_THAT(run.out, HasSubstr(results.header.suite_digest.substr(0, 12) + ", seed 0"));
}

// The name of a case has the seed, so the line that repeats a failure has it, too.
TEST(VerifyReports, ASeedGivesOtherNumbersAndIsPartOfTheRepro) {
  const Results passing = verify({"portable", "--case", "op.neg.f32.7.*", "--seed", "7"});
  EXPECT_EQ(passing.header.seed, 7u);
  ASSERT_FALSE(passing.outcomes.empty());
  for (const Outcome& outcome : passing.outcomes) {
    EXPECT_THAT(outcome.name, testing::EndsWith("@7"));
    EXPECT_EQ(outcome.state, State::kPass) << outcome.name;
  }
  const host::ScratchDir dir;
  const CliRun failing = cli({"verify", library("fault_1"), "--case", "op.mm.f32.8x8__8x8.exact", "--case",
                              "op.mm.f32.16x27__27x16.exact", "--seed", "7", "--save", dir.path("s")});
  EXPECT_EQ(failing.exit, 1) << failing.out;
  EXPECT_THAT(failing.out, HasSubstr("op.mm.f32.16x27__27x16.exact@7.json")) << failing.out;
  const std::string saved = dir.path("s/op.mm.f32.16x27__27x16.exact@7.json");
  EXPECT_EQ(cli({"verify", library("fault_1"), "--replay", saved}).exit, 1);
  EXPECT_EQ(cli({"verify", library("fault_0"), "--replay", saved}).exit, 0);
}

TEST(VerifyReports, ClaimsWithoutCasesLeadTheReport) {
  const host::ScratchDir dir;
  CliRun run;
  (void)verify(
      {library("fault_0"), "--case", "cap.claims-are-tested", "--case", "op.add_tensor.f32.7__7.*", "--case",
       "op.neg.f32.2x3x4*", "--coverage", dir.path("c.json"), "--html", dir.path("r.html")},
      &run);
  const size_t gaps = run.out.find("claimed, and not tested in this run:"), groups = run.out.find("\ngroup ");
  ASSERT_NE(gaps, std::string::npos) << run.out;
  EXPECT_LT(gaps, groups);
  const auto coverage = nlohmann::json::parse(read_all(dir.path("c.json")));
  bool has_rank = false, has_row = false;
  for (const auto& gap : coverage["untested"])
    for (const auto& row : gap["untested_rows"])
      has_rank = has_rank || (gap["what"] == "rank 6" && row == "aten.add.Tensor f32");
  EXPECT_TRUE(has_rank) << coverage["untested"].dump(1);
  for (const auto& row : coverage["rows"])
    if (row["op"] == "aten.neg.default" && row["dtype"] == "f32") {
      has_row = true;
      EXPECT_GE(row["by_rank"]["3"]["executed"], 1) << row;
    }
  EXPECT_TRUE(has_row);
  EXPECT_THAT(read_all(dir.path("r.html")), HasSubstr("Claimed, and not tested in this run"));
}

// Wrong in every repetition, by another number each time: that is a wrong result, not a flaky one.
TEST(VerifyReports, AlwaysWrongIsNotFlaky) {
  const Results results = verify({library("fault_281"), "--case", "op.neg.f32.7.stat"});
  ASSERT_EQ(results.outcomes.size(), 1u);
  EXPECT_EQ(results.outcomes[0].state, State::kFail) << results.outcomes[0].findings[0].text;
}

TEST(VerifyReports, AHangShowsFunctions) {
  const Results results = verify(
      {library("fault_49"), "--case", "op.neg.f32.65.stat", "--case-timeout-ms", "1000", "--no-confirm"});
  ASSERT_EQ(results.outcomes.size(), 1u);
  ASSERT_EQ(results.outcomes[0].state, State::kHang);
  const std::string& text = results.outcomes[0].findings[0].text;
  EXPECT_THAT(text, HasSubstr("faulty::Delegate::Context::before(")) << text;
  EXPECT_THAT(text, HasSubstr("(fault_49.so)"));
  EXPECT_THAT(text, Not(HasSubstr("map: ")));
  if (std::system("command -v addr2line > /dev/null") == 0) {
    EXPECT_THAT(text, HasSubstr(" at delegate.cpp:"));
  }
}

}  // namespace
}  // namespace etb::tools
