// SPDX-License-Identifier: Apache-2.0
#include "host/registry/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "host/registry/trusted_file.hpp"

namespace etb::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxOutputBytes = size_t{1} << 20;
// Interval for checking if the child has ended, because its output may stay open in a
// process that it started.
constexpr int kPollMs = 20;

[[noreturn]] void be_child(const std::function<void(int)>& body, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // Moves the pipe away from numbers 0 to 2, which it has when the parent started with
  // closed standard streams.
  if (output < 3) output = ::fcntl(output, F_DUPFD_CLOEXEC, 3);
  if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0)
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  body(output);
  ::_exit(0);
}

// Reads the available bytes without blocking. Returns false at the end of the output.
bool drain(int fd, std::string& out) {
  char piece[4096];
  for (;;) {
    const ssize_t count = ::read(fd, piece, sizeof(piece));
    if (count > 0 && out.size() < kMaxOutputBytes) out.append(piece, static_cast<size_t>(count));
    if (count == 0) return false;
    if (count < 0 && errno != EINTR) return errno == EAGAIN;
  }
}

ChildOutcome watch(pid_t child, int output, std::chrono::milliseconds deadline) {
  ChildOutcome outcome;
  const auto end = Clock::now() + deadline;
  bool is_open = true;
  for (;;) {
    if (is_open) {
      pollfd waiting{output, POLLIN, 0};
      ::poll(&waiting, 1, kPollMs);
      is_open = drain(output, outcome.output);
    } else {
      ::usleep(1000);
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      if (is_open) drain(output, outcome.output);
      outcome.end = WIFSIGNALED(status) ? ChildEnd::kSignalled : ChildEnd::kExited;
      outcome.value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
      ::kill(-child, SIGKILL);  // processes that it may have started
      return outcome;
    }
    if (Clock::now() < end) continue;
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);  // it may not have its own group yet
    ::waitpid(child, &status, 0);
    outcome.end = ChildEnd::kTimedOut;
    return outcome;
  }
}

}  // namespace

std::string to_text(const ChildOutcome& outcome, std::chrono::milliseconds deadline) {
  switch (outcome.end) {
    case ChildEnd::kExited:
      return "exited with code " + std::to_string(outcome.value);
    case ChildEnd::kSignalled:
      return "killed by signal " + std::to_string(outcome.value) + " (" + ::strsignal(outcome.value) + ")";
    case ChildEnd::kTimedOut:
      return "no answer within " + std::to_string(deadline.count()) + " ms";
  }
  return "unknown end";
}

Result<ChildOutcome> run_in_child(const std::function<void(int fd)>& body,
                                  std::chrono::milliseconds deadline) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return make_error(Code::OUT_OF_RESOURCES, "no pipe: " + std::generic_category().message(errno));
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0)
    return make_error(Code::OUT_OF_RESOURCES, "no process: " + std::generic_category().message(errno));
  if (child == 0) be_child(body, write_end.get(), parent);
  ::setpgid(child, child);  // both sides call it, so that neither has to wait for the other
  write_end = FileDescriptor();
  return watch(child, read_end.get(), deadline);
}

}  // namespace etb::host
