// SPDX-License-Identifier: Apache-2.0
// Tests `etbackend verify` as an ordinary user, with and without namespaces: a correct plugin passes, and
// plugins that attack the suite fail.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/report/results.hpp"
#include "etb/plugin.h"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

using conformance::Finding;
using conformance::Outcome;
using conformance::Results;
using testing::HasSubstr;

// Neither root nor 65534, which is the owner of other users' files inside a user namespace.
constexpr uid_t kOrdinary = 54321;

enum class Namespaces { kOpen, kClosed };

// Blocks system calls that create namespaces, as on systems that forbid them to ordinary users.
void close_namespaces() {
  constexpr uint32_t kNamespaceFlags =
      CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNamespaceFlags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    ::_exit(99);
}

// Switches to an ordinary user if the test runs as root.
void become_ordinary() {
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kOrdinary, kOrdinary, kOrdinary) != 0 ||
      ::setresuid(kOrdinary, kOrdinary, kOrdinary) != 0)
    ::_exit(98);
  ::prctl(PR_SET_DUMPABLE, 1);  // as for a program that this user started
}

// Copies of libraries and a folder for results that an ordinary user may access, wherever the build is.
class Copies {
 public:
  Copies() {
    ::chmod(dir_.path("").c_str(), 0755);
    fs::create_directory(dir_.path("results"));
    if (::geteuid() == 0) (void)!::chown(dir_.path("results").c_str(), kOrdinary, kOrdinary);
  }
  std::string library(const std::string& name) {
    const fs::path from = fs::path(ETB_FAULT_DIR) / name, to = dir_.path(name);
    if (fs::create_directory(to))
      for (const fs::directory_entry& file : fs::directory_iterator(from))
        if (file.is_regular_file()) {
          fs::copy_file(file.path(), to / file.path().filename());
          ::chmod((to / file.path().filename()).c_str(), file.path().extension() == ".so" ? 0755 : 0644);
        }
    ::chmod(to.c_str(), 0755);
    return (to / (name + ".so")).string();
  }
  std::string result(const std::string& name) const { return dir_.path("results/" + name); }

 private:
  host::ScratchDir dir_;
};

struct UserRun {
  int exit = -1;
  std::string text;
  Results results;
};

UserRun verify_as_user(Copies& copies, const std::string& name, std::vector<std::string> more,
                       Namespaces namespaces) {
  UserRun out;
  const std::string library = copies.library(name), results = copies.result(name + ".jsonl"),
                    text = copies.result(name + ".txt");
  const pid_t child = ::fork();
  if (child == 0) {
    become_ordinary();
    if (namespaces == Namespaces::kClosed) close_namespaces();
    std::vector<std::string> args = {"verify", library, "--results", results, "--no-confirm"};
    args.insert(args.end(), more.begin(), more.end());
    const CliRun run = cli(args);
    std::ofstream(text) << run.out << run.err;
    ::_exit(run.exit);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  out.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ostringstream all;
  all << std::ifstream(text).rdbuf();
  out.text = all.str();
  if (Result<Results> read = conformance::read_results(results)) out.results = std::move(*read);
  return out;
}

bool has_finding(const Results& results, const std::string& check) {
  for (const Outcome& outcome : results.outcomes)
    for (const Finding& finding : outcome.findings)
      if (is_failure(outcome.state) && finding.check.rfind(check, 0) == 0) return true;
  return false;
}

class Isolation : public testing::TestWithParam<Namespaces> {};

TEST_P(Isolation, AGoodPluginPassesForAnOrdinaryUser) {
  Copies copies;
  const UserRun run = verify_as_user(
      copies, "fault_0",
      {"--case", "op.neg.f32.*", "--case", "abi.*", "--case", "hyg.*", "--case", "life.*", "--case", "mem.*",
       "--case", "det.*", "--case", "cap.same-*", "--case", "unload.*", "--case", "leak.threads*"},
      GetParam());
  EXPECT_EQ(run.exit, 0) << run.text;
  EXPECT_GT(run.results.outcomes.size(), 40u);
  const bool says_closed = run.text.find("share namespaces with this process") != std::string::npos;
  EXPECT_TRUE(says_closed || GetParam() == Namespaces::kOpen) << run.text;
}

struct Attack {
  const char* plugin;
  const char* check;
  bool needs_call_filter = false;  // sanitizers make calls that the filter would reject
};
constexpr Attack kAttacks[] = {
    {"fault_119", "hyg.leaves-the-suite-alone"},       {"fault_120", "op."},
    {"fault_121", "hyg.leaves-the-suite-alone"},       {"fault_122", "hyg.leaves-the-suite-alone", true},
    {"fault_123", "hyg.leaves-the-suite-alone"},       {"fault_124", "hyg.leaves-the-suite-alone"},
    {"fault_125", "hyg.leaves-the-suite-alone", true}, {"fault_126", "leak.processes-of-a-batch"},
    {"fault_127", "hyg.stays-within-its-limits"},      {"fault_128", "hyg.stays-within-its-limits"},
    {"fault_129", "leak.sockets-of-a-batch"},          {"fault_130", "op.hang"},
};

TEST_P(Isolation, APluginThatAttacksTheSuiteFails) {
  Copies copies;
  for (const Attack& attack : kAttacks) {
    if (attack.needs_call_filter && ETB_SANITIZERS_BUILT != 0) continue;
    const UserRun run = verify_as_user(copies, attack.plugin,
                                       {"--case", "op.neg.f32.7.*", "--case-timeout-ms", "1500"}, GetParam());
    EXPECT_EQ(run.exit, 1) << attack.plugin << ": " << run.text;
    EXPECT_TRUE(has_finding(run.results, attack.check)) << attack.plugin << ": " << run.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Users, Isolation, testing::Values(Namespaces::kOpen, Namespaces::kClosed),
                         [](const auto& of) {
                           return std::string(of.param == Namespaces::kOpen ? "Open" : "Closed");
                         });

// 20 ms per run, 300 ms to initialise: limits for fast devices would report a hang.
TEST(SlowDevice, PassesWithLimitsThatAFastDeviceKeeps) {
  const host::ScratchDir dir;
  const CliRun run =
      cli({"verify", std::string(ETB_FAULT_DIR) + "/variant_5/variant_5.so", "--case", "op.neg.f32.7.*",
           "--case", "life.init-again", "--case", "conc.contexts", "--check-timeout-ms", "3000"});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
}

}  // namespace
}  // namespace etb::tools
