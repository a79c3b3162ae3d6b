// SPDX-License-Identifier: Apache-2.0
// Tests that every planted fault is caught by its own check, and that the correct plugin, its benign variants
// and the portable backend pass. Writes docs/conformance_kill_matrix.md:
//
//   ETB_REBASE=1 build/dev/bin/kill_matrix_test
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "conformance/report/junit.hpp"
#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

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

std::string library(const std::string& name) {
  return std::string(ETB_FAULT_DIR) + "/" + name + "/" + name + ".so";
}

// Fault 95 keeps a file beside its library to remember its first failure.
void forget_first_failure() {
  std::filesystem::remove(library("fault_95").substr(0, library("fault_95").rfind('/')) +
                          "/fault_95_was_here");
}

// Time limits of a case and a check. Planted hangs use the whole limit; correct plugins get time for a busy
// machine.
struct Limits {
  const char* case_ms = "2000";
  const char* check_ms = "8000";
};
constexpr Limits kPatient = {"60000", "300000"};

Results verify(const std::string& name, const std::vector<std::string>& patterns, int& out_exit,
               bool confirms = false, const Limits& limits = {}) {
  const host::ScratchDir dir;
  if (name == "fault_95") forget_first_failure();
  std::vector<std::string> args = {"verify",
                                   name == "portable" ? name : library(name),
                                   "--results",
                                   dir.path("results.jsonl"),
                                   "--case-timeout-ms",
                                   limits.case_ms,
                                   "--check-timeout-ms",
                                   limits.check_ms,
                                   "--profile",
                                   "cert",
                                   "--no-confirm"};
  for (const std::string& pattern : patterns) args.insert(args.end(), {"--case", pattern});
  if (confirms) args.erase(std::find(args.begin(), args.end(), "--no-confirm"));
  const CliRun run = cli(args);
  out_exit = run.exit;
  const Result<Results> results = conformance::read_results(dir.path("results.jsonl"));
  EXPECT_TRUE(results) << run.err << run.out;
  return results ? *results : Results{};
}

// The finding that the row names, and the case with the shortest name that has it.
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
    const Results results = verify(name, {}, exit, false, kPatient);
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

std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
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

// Draws a terminal: one line of text per line.
std::string to_svg(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"920\" height=\"" +
      std::to_string(lines.size() * 18 + 24) +
      "\" font-family=\"monospace\" font-size=\"13\" fill=\"#ddd\">\n<rect width=\"100%\" height=\"100%\" "
      "rx=\"6\" fill=\"#1c1c1c\"/>\n";
  for (size_t i = 0; i < lines.size(); ++i)
    out += "<text x=\"14\" y=\"" + std::to_string(i * 18 + 26) + "\" xml:space=\"preserve\">" +
           conformance::escape_markup(lines[i]) + "</text>\n";
  return out + "</svg>\n";
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
  expect_committed("images/verify_failure.svg", to_svg(text));
}

// Sets an environment variable temporarily.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Runs `args` in a child, sends it a signal once its results file has a few lines, and returns its wait
// status.
int run_and_signal(const std::vector<std::string>& args, const std::string& results, int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const CliRun run = cli(args);
    ::_exit(run.exit);
  }
  for (int i = 0; i < 20000; ++i) {
    const std::string text = read_all(results);
    if (std::count(text.begin(), text.end(), '\n') > 3) break;
    ::usleep(1000);
  }
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// True if children remain. Children of a dead run would be reparented to this process.
bool has_strays() {
  for (int i = 0; i < 3000; ++i) {
    if (::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) return false;
    ::usleep(1000);
  }
  return true;
}

TEST(KillMatrix, AnInterruptedRunGoesOnAndLeavesNobodyBehind) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const host::ScratchDir dir;
  const std::string results = dir.path("r.jsonl");
  const Environment temporary("TMPDIR", dir.path("tmp"));
  std::filesystem::create_directories(dir.path("tmp"));
  std::vector<std::string> args = {"verify", library("fault_0"), "--profile", "cert", "--results", results};
  const int interrupted = run_and_signal(args, results, SIGINT);
  ASSERT_TRUE(WIFEXITED(interrupted));
  EXPECT_EQ(WEXITSTATUS(interrupted), 6);
  EXPECT_FALSE(has_strays());
  const Result<Results> half = conformance::read_results(results);
  ASSERT_TRUE(half) << half.error().message;
  EXPECT_GE(half->outcomes.size(), 3u);  // the first line is the header
  EXPECT_LT(half->outcomes.size(), 15000u);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path("tmp")));
  // A plugin that hangs or leaves a process, in a run that is killed: the run's cleanup cleans up.
  for (const char* plugin : {"fault_49", "fault_96"}) {
    const std::string hanging = dir.path(std::string(plugin) + ".jsonl");
    const int killed = run_and_signal(
        {"verify", library(plugin), "--case", "op.*", "--results", hanging, "--case-timeout-ms", "60000"},
        hanging, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(killed));
    EXPECT_FALSE(has_strays()) << plugin;
    EXPECT_TRUE(std::filesystem::is_empty(dir.path("tmp"))) << plugin;
  }
  // If the cleanup was killed, too, the next run cleans up.
  const std::string left = dir.path("tmp/etbackend-verify-abcdef");
  std::filesystem::create_directories(left);
  std::ofstream(left + "/lock") << "";
  EXPECT_EQ(cli({"verify", library("fault_0"), "--case", "op.neg.f32.7.stat"}).exit, 0);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path("tmp")));
  args.push_back("--resume");
  const CliRun resumed = cli(args);
  EXPECT_EQ(resumed.exit, 0) << resumed.out << resumed.err;
  const Result<Results> whole = conformance::read_results(results);
  ASSERT_TRUE(whole);
  EXPECT_GT(whole->outcomes.size(), 17000u);
  std::set<std::string> names;
  for (const Outcome& outcome : whole->outcomes)
    EXPECT_TRUE(names.insert(outcome.name).second) << outcome.name;
}

TEST(KillMatrix, EveryStateIsReached) {
  const host::ScratchDir dir;
  std::set<std::string> seen;
  const auto note = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"--results", dir.path("s.jsonl"), "--case-timeout-ms", "1000"});
    (void)cli(args);
    const Result<Results> results = conformance::read_results(dir.path("s.jsonl"));
    ASSERT_TRUE(results) << args[1];
    for (const Outcome& outcome : results->outcomes) seen.insert(to_text(outcome.state));
  };
  const std::string waivers = dir.write(
      "waivers.json", R"([{"pattern": "op.neg.f32.*", "plugin": "com.example.faulty", "reason": "hardware",
                           "tracker": "t", "owner": "o", "expires": "2999-01-01"}])");
  note({"verify", library("fault_0"), "--case", "op.add_tensor.*"});                      // pass, unsupported
  note({"verify", library("fault_5"), "--case", "op.mm.f32.48x512*", "--no-confirm"});    // fail
  note({"verify", library("fault_50"), "--case", "op.neg.f32.65.*", "--no-confirm"});     // crash
  note({"verify", library("fault_49"), "--case", "op.neg.f32.65.*", "--no-confirm"});     // hang
  note({"verify", library("fault_34"), "--case", "op.add_tensor.i8.*", "--no-confirm"});  // dishonest
  note({"verify", library("fault_84"), "--case", "op.neg.f32.7.*", "--waivers", waivers});  // waived
  note({"verify", library("fault_0"), "--case", "op.neg.f32.7.*", "--waivers", waivers});   // xpass
  note({"verify", "portable", "--case", "cap.claims-are-tested"});                          // warning
  forget_first_failure();
  note({"verify", library("fault_95"), "--case", "op.neg.f32.*"});  // flaky
  // An interrupted run reports the remaining items as not-run.
  const int interrupted = run_and_signal({"verify", library("fault_0"), "--profile", "cert", "--results",
                                          dir.path("i.jsonl"), "--junit", dir.path("i.xml")},
                                         dir.path("i.jsonl"), SIGINT);
  EXPECT_TRUE(WIFEXITED(interrupted));
  if (read_all(dir.path("i.xml")).find("not-run") != std::string::npos) seen.insert("not-run");
  EXPECT_THAT(seen, testing::UnorderedElementsAre("pass", "unsupported", "fail", "crash", "hang", "dishonest",
                                                  "waived", "xpass", "warning", "flaky", "not-run"));
}

std::string mutation_text() {
  const bool has_page =
      std::filesystem::exists(std::string(ETB_SOURCE_DIR) + "/docs/conformance_mutation.md");
  return has_page
             ? "[conformance_mutation.md](conformance_mutation.md): machine mutants of plugins that a real "
               "model notices, and the part of them that this suite notices.\n"
             : "Not measured yet.\n";
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
      "| # | fault | caught by | shown by |\n|---|---|---|---|\n";
  size_t caught = 0;
  for (const Row& row : kRows) {
    int exit = 0;
    const Results results = verify("fault_" + std::to_string(row.number), split(row.patterns, ','), exit,
                                   needs_confirmation(row.number));
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
  expect_committed("conformance_kill_matrix.md", table);
}

}  // namespace
}  // namespace etb::tools
