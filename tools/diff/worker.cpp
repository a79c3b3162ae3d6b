// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "conformance/subject/monotonic_clock.hpp"

namespace etb::diff {
namespace {

// Precedes each request and answer. `code` is that of an error; requests and good answers have OK.
struct Head {
  uint32_t code = 0;
  uint32_t reserved = 0;
  uint64_t nbytes = 0;
};
constexpr int kMaxWaits = 200;  // for the end of a process without a socket
constexpr useconds_t kWaitUs = 10000;
constexpr uint64_t kMaxBytes = uint64_t{4} << 30;
constexpr size_t kMaxPieceBytes = size_t{16} << 20;
constexpr int kPollMs = 20;  // the socket of a process that ended may stay open in one that it started

enum class Moved : uint8_t { kAll, kEnd, kLate, kTooLarge };

// One end of the socket.
struct End {
  int fd;
  pid_t other = -1;          // process at the other end; -1: not watched
  uint64_t deadline_ns = 0;  // of the monotonic clock; 0: none
};

// Leaves the status for waitpid.
bool has_ended(pid_t process) {
  siginfo_t info{};
  return process > 0 && ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process;
}

// Waits until the socket is ready.
Moved wait_for(const End& end, short events) {
  for (;;) {
    int wait_ms = end.other > 0 ? kPollMs : -1;
    if (end.deadline_ns != 0) {
      const uint64_t now = conformance::monotonic_ns();
      if (now >= end.deadline_ns) return Moved::kLate;
      const auto left_ms = static_cast<int>(std::min<uint64_t>((end.deadline_ns - now) / 1000000 + 1, 1000000));
      wait_ms = wait_ms < 0 ? left_ms : std::min(wait_ms, left_ms);
    }
    pollfd one{end.fd, events, 0};
    const bool is_last = has_ended(end.other);  // asked first: what it sent before is still there
    const int ready = ::poll(&one, 1, is_last ? 0 : wait_ms);
    if (ready > 0) return Moved::kAll;
    if (is_last || (ready < 0 && errno != EINTR)) return Moved::kEnd;
  }
}

Moved send_all(const End& end, const void* data, size_t nbytes) {
  const char* at = static_cast<const char*>(data);
  while (nbytes > 0) {
    if (const Moved ready = wait_for(end, POLLOUT); ready != Moved::kAll) return ready;
    const ssize_t sent = ::send(end.fd, at, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return Moved::kEnd;
    at += sent;
    nbytes -= static_cast<size_t>(sent);
  }
  return Moved::kAll;
}

Moved send_message(const End& end, Code code, std::string_view text) {
  const Head head{static_cast<uint32_t>(code), 0, text.size()};
  if (const Moved sent = send_all(end, &head, sizeof(head)); sent != Moved::kAll) return sent;
  return send_all(end, text.data(), text.size());
}

Moved receive_all(const End& end, void* data, size_t nbytes) {
  char* at = static_cast<char*>(data);
  while (nbytes > 0) {
    if (const Moved ready = wait_for(end, POLLIN); ready != Moved::kAll) return ready;
    const ssize_t got = ::recv(end.fd, at, nbytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return Moved::kEnd;
    at += got;
    nbytes -= static_cast<size_t>(got);
  }
  return Moved::kAll;
}

// The text grows with the bytes that arrive, not with the number that the other end names.
Moved receive_message(const End& end, Head& head, std::string& text) {
  text.clear();
  if (const Moved got = receive_all(end, &head, sizeof(head)); got != Moved::kAll) return got;
  if (head.nbytes > kMaxBytes) return Moved::kTooLarge;
  while (text.size() < head.nbytes) {
    const size_t known = text.size();
    text.resize(known + std::min<size_t>(head.nbytes - known, kMaxPieceBytes));
    if (const Moved got = receive_all(end, text.data() + known, text.size() - known); got != Moved::kAll)
      return got;
  }
  return Moved::kAll;
}

// A descriptor above those of the standard streams, which it may have where they were closed.
int above_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int out = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::close(fd);
  return out;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

}  // namespace

Status Worker::start() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return make_error(Code::INTERNAL, std::string("socketpair: ") + std::strerror(errno));
  for (int& fd : fds) fd = above_streams(fd);
  if (fds[0] < 0 || fds[1] < 0) {
    const int failed = errno;
    for (const int fd : fds)
      if (fd >= 0) ::close(fd);
    return make_error(Code::OUT_OF_RESOURCES, std::string("socket: ") + std::strerror(failed));
  }
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(fds[0]);
    serve(fds[1], parent);
  }
  const int failed = errno;
  ::close(fds[1]);
  fd_ = fds[0];
  if (pid_ > 0) return {};
  ::close(fd_);
  fd_ = -1;
  return make_error(Code::INTERNAL, std::string("fork: ") + std::strerror(failed));
}

void Worker::serve(int fd, pid_t parent) const {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // The standard output is the report's.
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) ::dup2(null, STDOUT_FILENO);
  Head head;
  std::string request;
  const End end{fd};
  while (receive_message(end, head, request) == Moved::kAll) {
    const Result<std::string> answer = answer_(request);
    if (send_message(end, answer ? Code::OK : answer.error().code,
                     answer ? *answer : answer.error().message) != Moved::kAll)
      break;
  }
  ::_exit(0);
}

Result<std::string> Worker::ask(const std::string& request) {
  died_ = false;
  if (request.size() > kMaxBytes)
    return make_error(Code::OUT_OF_RESOURCES, "more than 4 GiB of operands for a process");
  if (pid_ < 0) ETB_TRY(start());
  const End end{fd_, pid_,
                timeout_ms_ == 0 ? 0 : conformance::monotonic_ns() + timeout_ms_ * uint64_t{1000000}};
  Head head;
  std::string text;
  Moved moved = send_message(end, Code::OK, request);
  if (moved == Moved::kAll) moved = receive_message(end, head, text);
  switch (moved) {
    case Moved::kAll:
      break;
    case Moved::kEnd:
      return die(nullptr);
    case Moved::kLate:
      return die(fmt::format("its process did not answer within {} s and was ended",
                             static_cast<double>(timeout_ms_) / 1000)
                     .c_str());
    case Moved::kTooLarge:
      return die("its process named an answer of more than 4 GiB and was ended");
  }
  if (head.code != static_cast<uint32_t>(Code::OK)) return make_error(static_cast<Code>(head.code), text);
  return text;
}

tl::unexpected<Error> Worker::die(const char* reason_of_kill) {
  died_ = true;
  ::close(fd_);
  fd_ = -1;
  if (reason_of_kill != nullptr) ::kill(pid_, SIGKILL);
  int status = 0;
  // A process that only closed the socket is ended, too.
  for (int i = 0; ::waitpid(pid_, &status, WNOHANG) == 0; ++i) {
    if (i == kMaxWaits) ::kill(pid_, SIGKILL);
    ::usleep(kWaitUs);
  }
  ::kill(-pid_, SIGKILL);  // its descendants
  pid_ = -1;
  return make_error(Code::UNAVAILABLE, reason_of_kill != nullptr
                                           ? reason_of_kill
                                           : "its process ended with " + describe_end(status));
}

void Worker::end() {
  if (pid_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // before it has its own group
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace etb::diff
