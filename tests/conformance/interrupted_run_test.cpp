// SPDX-License-Identifier: Apache-2.0
// Tests runs that end early, and every state that an outcome may have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "conformance/report/results.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tests/conformance/fault_library.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using conformance::Outcome;
using conformance::Results;

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

TEST(InterruptedRun, GoesOnAndLeavesNobodyBehind) {
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

TEST(InterruptedRun, EveryStateIsReached) {
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

}  // namespace
}  // namespace etb::tools
