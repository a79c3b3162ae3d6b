// SPDX-License-Identifier: Apache-2.0
// For tests: runs the program in a separate process, as a shell does, and records its output and exit status.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "host/testing/scratch_dir.hpp"

namespace etb::tools {

struct Ended {
  int exit = -1;   // -1 if a signal ended it
  int signal = 0;  // SIGKILL if it still ran at the end of its time
  double seconds = 0;
  std::string out, err;
};

// ETB_TEST_PROGRAM selects another build of the program for the same tests.
inline std::string program_path() {
  const char* other = std::getenv("ETB_TEST_PROGRAM");
  return other != nullptr ? other : ETB_PROGRAM;
}

class ProgramProcess {
 public:
  // `out` and `in` are paths; "" for a file of this object, which is empty for `in`. A negative `out_fd` is
  // unused.
  ProgramProcess(const std::vector<std::string>& args, const std::string& in = "/dev/null",
                 const std::string& out = "", int out_fd = -1) {
    const std::string out_path = out.empty() ? dir_.path("out") : out, err_path = dir_.path("err");
    std::vector<std::string> words = args;
    words.insert(words.begin(), program_path());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    started_ = std::chrono::steady_clock::now();
    pid_ = ::fork();
    if (pid_ != 0) return;
    redirect(::open(in.c_str(), O_RDONLY), 0);
    redirect(out_fd >= 0 ? out_fd : ::open(out_path.c_str(), O_WRONLY | O_CREAT, 0600), 1);
    redirect(::open(err_path.c_str(), O_WRONLY | O_CREAT, 0600), 2);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};  // a sparse file of 30 GB must not become memory
    ::setrlimit(RLIMIT_DATA, &memory);
#endif
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ProgramProcess(const ProgramProcess&) = delete;
  ProgramProcess& operator=(const ProgramProcess&) = delete;
  ~ProgramProcess() {
    if (pid_ > 0) (void)wait(0);
  }

  void send(int number) const { ::kill(pid_, number); }

  Ended wait(double seconds = 30) {
    const auto elapsed = [this] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    };
    Ended ended;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (elapsed() > seconds) ::kill(pid_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    pid_ = -1;
    ended.seconds = elapsed();
    if (WIFEXITED(status)) ended.exit = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
    ended.out = text_of("out");
    ended.err = text_of("err");
    return ended;
  }

 private:
  static void redirect(int from, int to) {
    ::dup2(from, to);
    if (from > 2) ::close(from);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(dir_.path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  host::ScratchDir dir_;
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point started_;
};

inline Ended run_program(const std::vector<std::string>& args, const std::string& in = "/dev/null",
                         const std::string& out = "") {
  return ProgramProcess(args, in, out).wait();
}

inline std::string program_fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/" + name;
}
inline std::string archive_fixture(const std::string& name) {
  return std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/" + name;
}
inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace etb::tools
