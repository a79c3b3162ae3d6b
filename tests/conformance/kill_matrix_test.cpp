// Every planted fault is caught by its own check; the good plugin, its benign variants and the portable backend pass. Writes docs/conformance_kill_matrix.md:
//
//   ETB_REBASE=1 build/dev/bin/kill_matrix_test
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "conformance/report/results.hpp"
#include "host/registry/scratch_dir.hpp"
#include "tools/cli_run.hpp"

namespace etb::tools {
namespace {

using conformance::Finding;
using conformance::Outcome;
using conformance::Results;

struct Row {
  int number;
  const char* fault;
  const char* patterns;  // with commas
  const char* check;     // beginning of the finding's id, with | between alternatives
};
#define ETB_FAULT_ROW(number, fault, patterns, check) {number, fault, patterns, check},
constexpr Row kRows[] = {
#include "tests/conformance/fault_rows.def"
};
#undef ETB_FAULT_ROW

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

std::string library(const std::string& name) {
  return std::string(ETB_FAULT_DIR) + "/" + name + "/" + name + ".so";
}

Results verify(const std::string& name, const std::vector<std::string>& patterns, int& out_exit) {
  const host::ScratchDir dir;
  std::vector<std::string> args = {"verify",
                                   name == "portable" ? name : library(name),
                                   "--results",
                                   dir.path("results.jsonl"),
                                   "--case-timeout-ms",
                                   "2000",
                                   "--check-timeout-ms",
                                   "8000",
                                   "--profile",
                                   "cert"};
  for (const std::string& pattern : patterns) args.insert(args.end(), {"--case", pattern});
  const CliRun run = cli(args);
  out_exit = run.exit;
  const Result<Results> results = conformance::read_results(dir.path("results.jsonl"));
  EXPECT_TRUE(results) << run.err << run.out;
  return results ? *results : Results{};
}

// The finding that the row names, and the case that shows it with the shortest name.
struct Kill {
  std::string check, name;
};
bool is_shorter(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::optional<Kill> find_kill(const Results& results, const Row& row) {
  std::optional<Kill> out;
  for (const Outcome& outcome : results.outcomes) {
    if (!conformance::is_failure(outcome.state)) continue;
    for (const Finding& finding : outcome.findings)
      for (const std::string& wanted : split(row.check, '|'))
        if (finding.check.rfind(wanted, 0) == 0 && (!out || is_shorter(outcome.name, out->name)))
          out = Kill{finding.check, outcome.name};
  }
  return out;
}

std::string seen_instead(const Results& results) {
  std::string text;
  for (const Outcome& outcome : results.outcomes)
    for (const Finding& finding : outcome.findings)
      text += outcome.name + ": " + finding.check + ": " + finding.text.substr(0, 200) + "\n";
  return text.empty() ? "nothing" : text.substr(0, 2000);
}

TEST(KillMatrix, GoodPluginsPassEverything) {
  for (const char* name : {"fault_0", "variant_1", "variant_2", "variant_3", "variant_4", "portable"}) {
    int exit = 0;
    const Results results = verify(name, {}, exit);
    const conformance::Totals totals = conformance::add_up(results.outcomes);
    EXPECT_EQ(exit, 0) << name << "\n" << seen_instead(results);
    EXPECT_EQ(totals.failures, 0u) << name;
    EXPECT_EQ(totals.claimed, totals.executed) << name;
    EXPECT_GT(totals.executed, std::string_view(name) == "portable" ? 15000u : 300u) << name;
  }
}

// A failure that needs an earlier case is saved with it, and happens again from the file; waived, it does not fail the run.
TEST(KillMatrix, AStateDependentFailureIsSavedAndRepeated) {
  const host::ScratchDir dir;
  const std::string plugin = library("fault_42");
  const CliRun run = cli({"verify", plugin, "--case", "op.neg.f32.*", "--case", "op.relu.f32.*", "--save", dir.path("repro")});
  EXPECT_EQ(run.exit, 1) << run.out;
  const std::string file = dir.path("repro/op.relu.f32.65.stat.json");
  std::ifstream in(file);
  const auto saved = nlohmann::json::parse(in);
  EXPECT_EQ(saved["sequence"], nlohmann::json::array({"op.neg.f32.7.stat"}));
  const CliRun again = cli({"verify", plugin, "--replay", file});
  EXPECT_EQ(again.exit, 1) << again.out;
  EXPECT_THAT(again.out, testing::HasSubstr("crash"));
  EXPECT_EQ(cli({"verify", plugin, "--case", "op.relu.f32.65.stat"}).exit, 0);
  dir.write("waivers.json", R"([{"pattern": "op.relu.f32.65.*", "plugin": "com.example.faulty", "reason": "hardware",
                                 "tracker": "t", "owner": "o", "expires": "2999-01-01"}])");
  const CliRun waived = cli({"verify", plugin, "--replay", file, "--waivers", dir.path("waivers.json")});
  EXPECT_EQ(waived.exit, 0) << waived.out;
  const CliRun xpass = cli({"verify", plugin, "--case", "op.relu.f32.65.stat", "--waivers", dir.path("waivers.json")});
  EXPECT_EQ(xpass.exit, 1) << xpass.out;
  EXPECT_THAT(xpass.out, testing::HasSubstr("xpass"));
}

TEST(KillMatrix, EachFaultIsCaughtByItsOwnCheck) {
  std::string table =
      "# Planted faults, and what catches them\n\n"
      "Written by `ETB_REBASE=1 build/dev/bin/kill_matrix_test`; that test builds one plugin once a fault "
      "(`tests/conformance/fault_plugin`) and fails when a\n"
      "fault is not caught by the check of its row, or when the good plugin, one of its four benign variants "
      "or the portable backend fails anything.\n\n"
      "| # | fault | caught by | shown by |\n|---|---|---|---|\n";
  size_t caught = 0;
  for (const Row& row : kRows) {
    int exit = 0;
    const Results results = verify("fault_" + std::to_string(row.number), split(row.patterns, ','), exit);
    const std::optional<Kill> kill = find_kill(results, row);
    EXPECT_TRUE(kill) << "fault " << row.number << " (" << row.fault << ") is not caught by " << row.check
                      << ", but by\n"
                      << seen_instead(results);
    EXPECT_EQ(exit, 1) << row.number;
    if (!kill) continue;
    ++caught;
    table += "| " + std::to_string(row.number) + " | " + row.fault + " | " + kill->check + " | `" +
             kill->name + "` |\n";
  }
  table +=
      "\n" + std::to_string(caught) + " of " + std::to_string(std::size(kRows)) + " faults are caught.\n";
  const std::string path = std::string(ETB_SOURCE_DIR) + "/docs/conformance_kill_matrix.md";
  if (std::getenv("ETB_REBASE") != nullptr) std::ofstream(path) << table;
  std::ifstream in(path);
  const std::string committed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(committed, table) << "docs/conformance_kill_matrix.md is out of date: ETB_REBASE=1 writes it";
}

}  // namespace
}  // namespace etb::tools
