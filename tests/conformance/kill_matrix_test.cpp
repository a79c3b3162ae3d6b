// SPDX-License-Identifier: Apache-2.0
// Tests that every planted fault is caught by its own check, and that the correct plugin, its benign variants
// and the portable backend pass. Writes docs/conformance_kill_matrix.md:
//
//   ETB_REBASE=1 build/dev/bin/kill_matrix_test
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "conformance/report/junit.hpp"
#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tests/conformance/fault_library.hpp"
#include "tools/testing/cli_run.hpp"
#include "tools/testing/terminal_picture.hpp"

namespace etb::tools {
namespace {

using conformance::Finding;
using conformance::Outcome;
using conformance::Results;

// Needed by fault 105; no library defines it.
extern "C" __attribute__((visibility("default"))) int etb_function_of_the_program() { return 105; }

struct Row {
  int number;
  const char* fault;
  const char* patterns;  // separated by commas
  const char* check;     // beginning of the finding's id, with | between alternatives
};
#define ETB_FAULT_ROW(number, fault, patterns, check) {number, fault, patterns, check},
constexpr Row kRows[] = {
#include "tests/conformance/fault_rows.def"
};
#undef ETB_FAULT_ROW

// Faults that only a repeated run detects.
constexpr bool needs_confirmation(int number) { return number == 42 || number == 95; }

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) out.push_back(part);
  return out;
}

// Time limits of a case and a check. Planted hangs use the whole limit; correct plugins get time for a busy
// machine.
struct Limits {
  const char* case_ms = "2000";
  const char* check_ms = "20000";
};
constexpr Limits kPatient = {"60000", "300000"};

// A verification in a process of its own, so that several run at once.
class Verification {
 public:
  Verification(const std::string& name, const std::vector<std::string>& patterns, bool confirms = false,
               const Limits& limits = {}) {
    if (name == "fault_95") forget_first_failure();
    std::vector<std::string> args = {"verify",
                                     name == "portable" ? name : library(name),
                                     "--results",
                                     dir_->path("results.jsonl"),
                                     "--case-timeout-ms",
                                     limits.case_ms,
                                     "--check-timeout-ms",
                                     limits.check_ms,
                                     "--profile",
                                     "cert"};
    if (!confirms) args.emplace_back("--no-confirm");
    for (const std::string& pattern : patterns) args.insert(args.end(), {"--case", pattern});
    pid_ = ::fork();
    if (pid_ != 0) return;
    const CliRun run = cli(args);
    std::ofstream(dir_->path("report.txt")) << run.err << run.out;
    ::_exit(run.exit);
  }

  Results finish(int& out_exit) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status));
    out_exit = WEXITSTATUS(status);
    const Result<Results> results = conformance::read_results(dir_->path("results.jsonl"));
    EXPECT_TRUE(results) << std::ifstream(dir_->path("report.txt")).rdbuf();
    return results ? *results : Results{};
  }

 private:
  std::unique_ptr<host::ScratchDir> dir_ = std::make_unique<host::ScratchDir>();
  pid_t pid_ = -1;
};

// The finding that the row names, and the case with the shortest name that has it.
struct Kill {
  std::string check, name;
};
bool is_shorter(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_wanted(const std::string& check, const Row& row) {
  const std::vector<std::string> wanted = split(row.check, '|');
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& begin) { return check.rfind(begin, 0) == 0; });
}

std::optional<Kill> find_kill(const Results& results, const Row& row) {
  std::optional<Kill> out;
  for (const Outcome& outcome : results.outcomes) {
    if (!conformance::is_failure(outcome.state)) continue;
    for (const Finding& finding : outcome.findings)
      if (is_wanted(finding.check, row) && (!out || is_shorter(outcome.name, out->name)))
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
  // The variants 1 to 4 compute by other means: their resources and objects are those of fault_0.
  const std::vector<std::string> numbers = {"op.*",    "edge.*", "call.*", "quant.*", "dyn.*",
                                            "model.*", "net.*",  "det.*",  "conc.*"};
  for (const auto& [name, patterns] :
       std::initializer_list<std::pair<const char*, std::vector<std::string>>>{{"fault_0", {}},
                                                                               {"variant_1", numbers},
                                                                               {"variant_2", numbers},
                                                                               {"variant_3", numbers},
                                                                               {"variant_4", numbers},
                                                                               {"variant_7", {}},
                                                                               {"portable", {}}}) {
    int exit = 0;
    const Results results = Verification(name, patterns, false, kPatient).finish(exit);
    const conformance::Totals totals = conformance::add_up(results.outcomes);
    EXPECT_EQ(exit, 0) << name << "\n" << seen_instead(results);
    EXPECT_EQ(totals.failures, 0u) << name;
    EXPECT_EQ(totals.claimed, totals.executed) << name;
    EXPECT_GT(totals.executed, std::string_view(name) == "portable" ? 15000u : 300u) << name;
  }
}

// A failure that needs an earlier case is saved with it, and occurs again from the file. Waived, it does not
// fail the run.
TEST(KillMatrix, AStateDependentFailureIsSavedAndRepeated) {
  const host::ScratchDir dir;
  const std::string plugin = library("fault_42");
  const CliRun run = cli(
      {"verify", plugin, "--case", "op.neg.f32.*", "--case", "op.relu.f32.*", "--save", dir.path("repro")});
  EXPECT_EQ(run.exit, 1) << run.out;
  const std::string file = dir.path("repro/op.relu.f32.65.stat.json");
  std::ifstream in(file);
  const auto saved = nlohmann::json::parse(in);
  EXPECT_EQ(saved["sequence"], nlohmann::json::array({"op.neg.f32.7.stat"}));
  const CliRun again = cli({"verify", plugin, "--replay", file});
  EXPECT_EQ(again.exit, 1) << again.out;
  EXPECT_THAT(again.out, testing::HasSubstr("crash"));
  EXPECT_EQ(cli({"verify", plugin, "--case", "op.relu.f32.65.stat"}).exit, 0);
  dir.write("waivers.json",
            R"([{"pattern": "op.relu.f32.65.*", "plugin": "com.example.faulty", "reason": "hardware",
                                 "tracker": "t", "owner": "o", "expires": "2999-01-01"}])");
  const CliRun waived = cli({"verify", plugin, "--replay", file, "--waivers", dir.path("waivers.json")});
  EXPECT_EQ(waived.exit, 0) << waived.out;
  const CliRun xpass =
      cli({"verify", plugin, "--case", "op.relu.f32.65.stat", "--waivers", dir.path("waivers.json")});
  EXPECT_EQ(xpass.exit, 1) << xpass.out;
  EXPECT_THAT(xpass.out, testing::HasSubstr("xpass"));
}

// A graph with one wrong node is reduced to that node, and a large product to a small one. Both fail again
// from their files; damaged files are rejected.
TEST(KillMatrix, FailuresAreMadeSmaller) {
  const host::ScratchDir dir;
  const std::string plugin = library("fault_79"), name = "model.two_products.f32.exact";
  const CliRun run = cli({"verify", plugin, "--case", name, "--save", dir.path("a")});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.out, testing::HasSubstr("smallest: aten.mm.default, f32 [3, 1], f32 [1, 3]")) << run.out;
  const std::string file = dir.path("a/" + name + ".json");
  const CliRun again = cli({"verify", plugin, "--replay", file});
  EXPECT_EQ(again.exit, 1) << again.out << again.err;
  EXPECT_EQ(cli({"verify", library("fault_0"), "--replay", file}).exit, 0);
  EXPECT_THAT(cli({"graph", dir.path("a/" + name + ".etg")}).out, testing::HasSubstr("aten.mm.default"));

  std::string text = read_all(file);
  const size_t image = text.find("\"image\": \"") + 10;
  for (const size_t at : {size_t{0}, size_t{40}, size_t{200}}) {
    std::string damaged = text;
    damaged.replace(image + at, 8, "ffffffff");
    dir.write("damaged.json", damaged);
    const CliRun refused = cli({"verify", plugin, "--replay", dir.path("damaged.json")});
    EXPECT_GE(refused.exit, 1) << at;
    EXPECT_LE(refused.exit, 5) << at;
  }
  dir.write("cut.json", text.substr(0, text.size() / 2));
  EXPECT_THAT(cli({"verify", plugin, "--replay", dir.path("cut.json")}).err,
              testing::HasSubstr("replay: no file"));

  const CliRun large = cli({"verify", library("fault_1"), "--case", "op.mm.f32.33x65__65x31.exact", "--sarif",
                            dir.path("large.sarif")});
  const auto sarif = nlohmann::json::parse(read_all(dir.path("large.sarif")));
  EXPECT_EQ(sarif["runs"][0]["results"][0]["ruleId"], "op.exact-probe");
  EXPECT_EQ(sarif["runs"][0]["results"][0]["level"], "error");
  EXPECT_THAT(large.out, testing::HasSubstr("smallest: aten.mm.default, f32 [1, 1], f32 [1, 1]"))
      << large.out;
}

// A hang is reduced to a small one. A dynamic case keeps the runs that it needs.
TEST(KillMatrix, HangsAndSequencesOfRunsAreMadeSmaller) {
  const host::ScratchDir dir;
  const CliRun hang =
      cli({"verify", library("fault_49"), "--case", "op.neg.f32.65.stat", "--case-timeout-ms", "1000"});
  EXPECT_EQ(hang.exit, 1);
  EXPECT_THAT(hang.out, testing::ContainsRegex("smallest: aten.neg.default, f32 .(4|5|6)[0-9].")) << hang.out;
  // Two runs are needed, the first larger than the second; their exact sizes do not matter.
  const CliRun dynamic =
      cli({"verify", library("fault_16"), "--case", "dyn.neg.f32.n.stat", "--save", dir.path("d")});
  EXPECT_THAT(dynamic.out, testing::HasSubstr("smallest: aten.neg.default, f32 [8]; then f32 [1]\n"))
      << dynamic.out;
  const CliRun again =
      cli({"verify", library("fault_16"), "--replay", dir.path("d/dyn.neg.f32.n.stat.json")});
  EXPECT_EQ(again.exit, 1) << again.out << again.err;
  EXPECT_EQ(cli({"verify", library("fault_0"), "--replay", dir.path("d/dyn.neg.f32.n.stat.json")}).exit, 0);
}

size_t count_files(const std::string& folder, const std::string& ending) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    count += entry.path().string().ends_with(ending) ? 1 : 0;
  return count;
}

// Cases, checks and ends of batches: each failure has a file that fails again, and reports its smallest form.
TEST(KillMatrix, EveryFailureIsSavedAndFailsAgain) {
  const host::ScratchDir dir;
  const std::string plugin = library("fault_16"), list = dir.path("s/failures.txt");
  const CliRun run = cli({"verify", plugin, "--case", "dyn.*", "--case", "mem.*", "--save", dir.path("s"),
                          "--results", dir.path("r.jsonl")});
  EXPECT_EQ(run.exit, 1);
  const Result<Results> results = conformance::read_results(dir.path("r.jsonl"));
  ASSERT_TRUE(results);
  const size_t failures = conformance::add_up(results->outcomes).failures;
  EXPECT_GE(failures, 20u);
  EXPECT_EQ(count_files(dir.path("s"), ".json"), failures);
  for (const Outcome& outcome : results->outcomes)
    if (is_failure(outcome.state)) {
      EXPECT_TRUE(conformance::has_look(outcome)) << outcome.name;
      EXPECT_EQ(cli({"verify", plugin, "--replay", dir.path("s/" + outcome.name + ".json")}).exit, 1)
          << outcome.name;
    }
  EXPECT_THAT(read_all(list), testing::HasSubstr("# dyn.final-sizes aten.neg.default\netbackend verify "));

  // A check cannot be smaller. A process that stays is reported for the end of its batch.
  const CliRun check =
      cli({"verify", library("fault_92"), "--case", "cap.op-table-is-stable", "--save", dir.path("c")});
  EXPECT_THAT(check.out, testing::HasSubstr("smallest: the check itself")) << check.out;
  EXPECT_EQ(cli({"verify", library("fault_92"), "--replay", dir.path("c/cap.op-table-is-stable.json")}).exit,
            1);
  const CliRun batch =
      cli({"verify", library("fault_96"), "--case", "op.neg.f32.*", "--save", dir.path("b")});
  EXPECT_THAT(batch.out, testing::HasSubstr("leak.processes-of-a-batch")) << batch.out;
  ASSERT_EQ(count_files(dir.path("b"), ".json"), 1u);
  for (const auto& entry : std::filesystem::directory_iterator(dir.path("b"))) {
    const std::string file = entry.path().string();
    if (!file.ends_with(".json")) continue;
    EXPECT_EQ(cli({"verify", library("fault_96"), "--replay", file}).exit, 1);
  }
}

// The end of the time is reported, and a failure that was not examined still counts.
TEST(KillMatrix, MakingFailuresSmallerHasAnEnd) {
  const CliRun run = cli({"verify", library("fault_49"), "--case", "op.neg.f32.*", "--case", "edge.neg.f32.*",
                          "--workers", "1", "--case-timeout-ms", "1500", "--minimise-time", "1s"});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.out, testing::HasSubstr("not tried (--no-confirm, or --minimise-time was over)"))
      << run.out;
  EXPECT_EQ(cli({"verify", "portable", "--minimise-time", "soon"}).exit, 2);
}

void expect_committed(const std::string& name, const std::string& content) {
  const std::string path = std::string(ETB_SOURCE_DIR) + "/docs/" + name;
  if (std::getenv("ETB_REBASE") != nullptr) std::ofstream(path) << content;
  EXPECT_EQ(read_all(path), content) << "docs/" << name << " is out of date: ETB_REBASE=1 writes it";
}

TEST(KillMatrix, ThePictureInTheDocumentationIsAReport) {
  const CliRun run = cli(
      {"verify", library("fault_1"), "--case", "op.mm.f32.16x27__27x16.*", "--case", "op.mm.f32.8x8__8x8.*"});
  std::string text = "$ etbackend verify my_npu --case 'op.mm.f32.16x27*' --case 'op.mm.f32.8x8*'\n";
  // Notes describe the machine: a chroot has no namespaces for the plugin.
  for (const std::string& line : split(run.out, '\n'))
    if (!line.starts_with("note: ") && !line.starts_with("run: ")) text += line + '\n';
  for (size_t at; (at = text.find(library("fault_1"))) != std::string::npos;)
    text.replace(at, library("fault_1").size(), "my_npu");
  expect_committed("images/verify_failure.svg", terminal_picture(text));
}

// The check and case of the fault's row on the committed page; nothing while the page is rewritten.
std::optional<Kill> committed_kill(int number) {
  if (std::getenv("ETB_REBASE") != nullptr) return std::nullopt;
  const std::string page = read_all(std::string(ETB_SOURCE_DIR) + "/docs/conformance_kill_matrix.md");
  const size_t row = page.find("\n| " + std::to_string(number) + " | ");
  const size_t end = row == std::string::npos ? row : page.find('\n', row + 1);
  if (end == std::string::npos) return std::nullopt;
  const std::vector<std::string> cells = split(page.substr(row + 1, end - row - 1), '|');
  if (cells.size() < 5 || cells[3].size() < 3 || cells[4].size() < 5) return std::nullopt;
  return Kill{cells[3].substr(1, cells[3].size() - 2), cells[4].substr(2, cells[4].size() - 4)};
}

// Returns what the page shows of a caught fault: its present cells, as long as the case exists and the row accepts the check.
// Which damaged payload fails first, and how, depends on what the process has in memory; a new case may have a shorter name.
Kill shown_kill(const Row& row, const Kill& kill, const Results& results) {
  const std::optional<Kill> committed = committed_kill(row.number);
  const bool ran =
      committed && std::any_of(results.outcomes.begin(), results.outcomes.end(),
                               [&](const Outcome& outcome) { return outcome.name == committed->name; });
  return ran && is_wanted(committed->check, row) ? *committed : kill;
}

std::string mutation_text() {
  const bool has_page =
      std::filesystem::exists(std::string(ETB_SOURCE_DIR) + "/docs/conformance_mutation.md");
  return has_page
             ? "[conformance_mutation.md](conformance_mutation.md): machine mutants of plugins that a real "
               "model notices, and the part of them that this suite notices.\n"
             : "Not measured yet.\n";
}

// Outcome of the verification of a row.
struct Judged {
  const Row* row;
  int exit = 0;
  Results results;
  std::optional<Kill> kill;
};

Verification start(const Row& row) {
  return {"fault_" + std::to_string(row.number), split(row.patterns, ','), needs_confirmation(row.number)};
}

Judged judge(const Row& row, Verification& verification) {
  Judged out{&row, 0, {}, std::nullopt};
  out.results = verification.finish(out.exit);
  out.kill = find_kill(out.results, row);
  if (out.kill) {
    EXPECT_EQ(out.exit, 1) << row.number;
  }
  std::printf("fault %d: %s\n", row.number, out.kill ? out.kill->name.c_str() : "not caught");
  std::fflush(stdout);  // before the next process starts
  return out;
}

// Several rows at a time. A row that is missed so is judged again with nothing beside it, and the log says so: checks of growth
// and of races make fewer repetitions on a busy machine.
std::vector<Judged> judge_all_rows() {
  std::vector<Judged> out;
  size_t next = 0;
  std::deque<Verification> started;
  for (const Row& row : kRows) {
    // Most rows are one check, which uses one processor.
    for (; next < std::size(kRows) && started.size() <= std::thread::hardware_concurrency(); ++next)
      started.push_back(start(kRows[next]));
    out.push_back(judge(row, started.front()));
    started.pop_front();
  }
  for (Judged& judged : out) {
    if (judged.kill) continue;
    std::printf("fault %d was missed beside others (found: %s); again, alone\n", judged.row->number,
                seen_instead(judged.results).c_str());
    Verification alone = start(*judged.row);
    judged = judge(*judged.row, alone);
  }
  return out;
}

TEST(KillMatrix, EachFaultIsCaughtByItsOwnCheck) {
  std::string table =
      std::string(
          "# What the suite finds\n\n"
          "Two measures, which answer different questions. Own faults show that each check can fail: the "
          "authors of "
          "the suite planted them, so a suite that\nfinds all of them is not yet a good one. The mutation "
          "score is "
          "about faults that nobody chose.\n\n"
          "## Mutation score\n\n") +
      mutation_text() +
      "\n## Own faults\n\n"
      "Written by `ETB_REBASE=1 build/dev/bin/kill_matrix_test`; that test builds one plugin once a fault "
      "(`tests/conformance/fault_plugin`) and fails when a\n"
      "fault is not caught by the check of its row, or when the good plugin, one of its benign variants "
      "or the portable backend fails anything.\n\n"
      "| # | fault | caught by | shown by, for example |\n|---|---|---|---|\n";
  // This process makes all cases now, and the others share them.
  (void)cli({"verify", library("fault_0"), "--case", "op.neg.f32.7.stat"});
  size_t caught = 0;
  std::string missed;
  for (Judged& judged : judge_all_rows()) {
    const Row& row = *judged.row;
    if (!judged.kill) {
      missed += fmt::format("\nfault {} ({}) is not caught by {}, but by: {}", row.number, row.fault,
                            row.check, seen_instead(judged.results));
      continue;
    }
    ++caught;
    const Kill shown = shown_kill(row, *judged.kill, judged.results);
    table += "| " + std::to_string(row.number) + " | " + row.fault + " | " + shown.check + " | `" +
             shown.name + "` |\n";
  }
  table +=
      "\n" + std::to_string(caught) + " of " + std::to_string(std::size(kRows)) + " faults are caught.\n";
  expect_committed("conformance_kill_matrix.md", table);
  EXPECT_EQ(missed, "");  // last, where a long log is not cut
  expect_committed("conformance_kill_matrix.md", table);
}

}  // namespace
}  // namespace etb::tools
