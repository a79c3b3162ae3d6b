// SPDX-License-Identifier: Apache-2.0
// Tests that every function of the ABI is called by the suite the way a host calls it. One library, in which
// any function can be broken (fault_plugin/broken_function.hpp), is verified once for each function of
// table_functions.def and of the draft extensions, and for each way to break it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "conformance/report/results.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

using conformance::Outcome;

struct Function {
  std::string table, name;
  std::string full() const { return table + "." + name; }
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
#define ETB_REQUIRED(table, function) {#table, #function},
#define ETB_OPTIONAL(table, function, cap) {#table, #function},
#define ETB_EXTENSION_FUNCTION(table, function) {#table, #function},
#include "host/plugin/table_functions.def"
#include "tests/conformance/fault_plugin/extension_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
#undef ETB_EXTENSION_FUNCTION
  };
  return all;
}

// The groups that call the functions of a table. A run of cert has them all.
const std::map<std::string, std::vector<std::string>> kGroups = {
    {"plugin", {"life.*", "opt.*", "ext.*"}},
    {"device", {"dev.*"}},
    {"delegate", {"run.*", "info.*", "life.ends*", "blob.own-payload*"}},
    {"aot", {"aot.*", "cap.op-table*", "op.neg.f32.7.*", "op.exp.f32.7.*"}},
    {"buffer", {"ext.*"}},
    {"state", {"ext.*"}},
    {"resign", {"blob.resigned*"}}};

// Answers that the ABI allows, so that no suite can call them wrong.
const std::set<std::pair<std::string, std::string>> kLegal = {
    {"success", "plugin.get_extension"},  // NULL: the plugin has no extension
    {"error", "plugin.get_extension"},
    {"success", "delegate.check_payload"},  // the verdict "unknown"
    {"success", "aot.preserve_ops"},        // no op to preserve: a warning
    {"success", "aot.estimate"},            // nothing is known: a warning
    {"success", "buffer.sync"},             // host memory needs none
    {"error", "buffer.free"},               // it has no status
};

// Breaks one function of the library for the life of this object.
class Break {
 public:
  Break(const std::string& function, const std::string& by) {
    ::setenv("ETB_BROKEN_FUNCTION", function.c_str(), 1);
    ::setenv("ETB_BROKEN_BY", by.c_str(), 1);
  }
  ~Break() {
    ::unsetenv("ETB_BROKEN_FUNCTION");
    ::unsetenv("ETB_BROKEN_BY");
  }
  Break(const Break&) = delete;
  Break& operator=(const Break&) = delete;
};

// A verification of the library by these groups, in a process of its own, so that several run at once.
class Verification {
 public:
  // The first failure ends it. Time limits in milliseconds.
  Verification(const Function& function, const std::string& by, const std::vector<std::string>& patterns,
               const char* limit_ms)
      : full_(function.full()) {
    std::vector<std::string> args = {"verify",      ETB_BREAKABLE_PLUGIN,  "--profile",          "cert",
                                     "--fail-fast", "--no-confirm",        "--check-timeout-ms", limit_ms,
                                     "--results",   dir_->path("r.jsonl"), "--case-timeout-ms",  limit_ms};
    for (const std::string& pattern : patterns) args.insert(args.end(), {"--case", pattern});
    pid_ = ::fork();
    if (pid_ != 0) return;
    const Break broken(full_, by);
    const CliRun run = cli(args);
    std::ofstream(dir_->path("error.txt")) << run.err;
    ::_exit(run.exit);
  }

  const std::string& function() const { return full_; }

  // Returns the exit code, and the first failure.
  int finish(std::string& out_first) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    const Result<conformance::Results> results = conformance::read_results(dir_->path("r.jsonl"));
    if (!results) std::getline(std::ifstream(dir_->path("error.txt")), out_first);
    if (results)
      for (const Outcome& outcome : results->outcomes)
        if (out_first.empty() && conformance::is_failure(outcome.state))
          out_first = outcome.name + " " + conformance::to_text(outcome.state) +
                      (outcome.findings.empty() ? "" : ": " + outcome.findings[0].text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::unique_ptr<host::ScratchDir> dir_ = std::make_unique<host::ScratchDir>();
  std::string full_;
  pid_t pid_ = -1;
};

void expect_all_found(const std::string& by) {
  std::deque<Verification> started;
  const auto finish_first = [&] {
    std::string first;
    EXPECT_EQ(started.front().finish(first), 1)
        << started.front().function() << " broken by " << by << " is not found " << first;
    std::printf("%s by %s: %s\n", started.front().function().c_str(), by.c_str(),
                first.substr(0, 160).c_str());
    std::fflush(stdout);  // before the next process starts
    started.pop_front();
  };
  // This process makes all cases now, and the others share them.
  (void)cli({"verify", ETB_BREAKABLE_PLUGIN, "--case", "op.neg.f32.7.stat"});
  for (const Function& function : functions()) {
    if (kLegal.contains({by, function.full()})) continue;
    started.emplace_back(function, by, kGroups.at(function.table), "8000");
    if (started.size() > std::thread::hardware_concurrency()) finish_first();
  }
  while (!started.empty()) finish_first();
}

TEST(BrokenFunction, PassesWithoutABreak) {
  std::set<std::string> patterns;
  for (const auto& [table, groups] : kGroups) patterns.insert(groups.begin(), groups.end());
  std::string first;
  EXPECT_EQ(
      Verification({"no", "function"}, "abort", {patterns.begin(), patterns.end()}, "60000").finish(first), 0)
      << first;
}

TEST(BrokenFunction, EachThatAbortsIsFound) { expect_all_found("abort"); }
TEST(BrokenFunction, EachThatSucceedsWithoutDoingAnythingIsFound) { expect_all_found("success"); }
TEST(BrokenFunction, EachThatOnlyFailsIsFound) { expect_all_found("error"); }

}  // namespace
}  // namespace etb::tools
