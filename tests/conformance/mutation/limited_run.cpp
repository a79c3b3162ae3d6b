// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/limited_run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace etb::mutation {
namespace {

void limit(int what, uint64_t value) {
  const rlimit both = {value, value};
  ::setrlimit(static_cast<__rlimit_resource>(what), &both);
}

[[noreturn]] void become(const std::vector<std::string>& words, const RunLimits& limits,
                         const std::string& output) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_AS, limits.memory_bytes);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, uint64_t{1} << 30);
  const int null = ::open("/dev/null", O_RDWR);
  const int out = output.empty() ? null : ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(out, 2);
  if (!limits.folder.empty()) ::setenv("TMPDIR", limits.folder.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

// Kills the processes whose parent this process became. A killed one passes its children on, hence the rounds.
void end_orphans() {
  for (int round = 0; round < 1000; ++round) {
    std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    bool has_any = false;
    for (pid_t pid = 0; file >> pid;) {
      has_any = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    if (!has_any) return;
  }
}

std::string tail_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  constexpr std::streamoff kMost = 16384;
  file.seekg(size > kMost ? size - kMost : 0);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string RunResult::end() const {
  if (timed_out) return "ran out of time";
  return exit >= 0 ? "exit code " + std::to_string(exit) : "signal " + std::to_string(signal);
}

RunResult run_limited(const std::vector<std::string>& words, const RunLimits& limits) {
  using Clock = std::chrono::steady_clock;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string output = limits.folder.empty() ? "" : limits.folder + "/output.txt";
  const auto end = Clock::now() + std::chrono::seconds(limits.seconds);
  const pid_t pid = ::fork();
  if (pid == 0) become(words, limits, output);
  RunResult result;
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() >= end) {
      result.timed_out = true;
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    ::usleep(2000);
  }
  ::kill(-pid, SIGKILL);
  end_orphans();
  if (WIFEXITED(status)) result.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  result.timed_out |= result.signal == SIGXCPU;
  if (!output.empty()) result.output = tail_of(output);
  return result;
}

}  // namespace etb::mutation
