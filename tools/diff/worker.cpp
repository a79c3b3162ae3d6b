// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

bool send_all(int fd, const void* data, size_t nbytes) {
  const char* at = static_cast<const char*>(data);
  while (nbytes > 0) {
    const ssize_t sent = ::send(fd, at, nbytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    nbytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool send_message(int fd, Code code, std::string_view text) {
  const Head head{static_cast<uint32_t>(code), 0, text.size()};
  return send_all(fd, &head, sizeof(head)) && send_all(fd, text.data(), text.size());
}

enum class Received : uint8_t { kAll, kEnd, kLate };

// `deadline_ns` of the monotonic clock; 0: none.
Received receive_all(int fd, void* data, size_t nbytes, uint64_t deadline_ns) {
  char* at = static_cast<char*>(data);
  while (nbytes > 0) {
    int wait_ms = -1;
    if (deadline_ns != 0) {
      const uint64_t now = conformance::monotonic_ns();
      if (now >= deadline_ns) return Received::kLate;
      wait_ms = static_cast<int>(std::min<uint64_t>((deadline_ns - now) / 1000000 + 1, 1000000));
    }
    pollfd one{fd, POLLIN, 0};
    const int ready = ::poll(&one, 1, wait_ms);
    if (ready < 0 && errno != EINTR) return Received::kEnd;
    if (ready <= 0) continue;
    const ssize_t got = ::recv(fd, at, nbytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::kEnd;
    at += got;
    nbytes -= static_cast<size_t>(got);
  }
  return Received::kAll;
}

Received receive_message(int fd, uint64_t deadline_ns, Head& head, std::string& text) {
  if (const Received got = receive_all(fd, &head, sizeof(head), deadline_ns); got != Received::kAll)
    return got;
  if (head.nbytes > kMaxBytes) return Received::kEnd;
  text.resize(head.nbytes);
  return receive_all(fd, text.data(), text.size(), deadline_ns);
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
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  Head head;
  std::string request;
  while (receive_message(fd, 0, head, request) == Received::kAll) {
    const Result<std::string> answer = answer_(request);
    if (!send_message(fd, answer ? Code::OK : answer.error().code, answer ? *answer : answer.error().message))
      break;
  }
  ::_exit(0);
}

Result<std::string> Worker::ask(const std::string& request) {
  died_ = false;
  if (pid_ < 0) ETB_TRY(start());
  const uint64_t deadline_ns =
      timeout_ms_ == 0 ? 0 : conformance::monotonic_ns() + timeout_ms_ * uint64_t{1000000};
  if (!send_message(fd_, Code::OK, request)) return die(nullptr);
  Head head;
  std::string text;
  switch (receive_message(fd_, deadline_ns, head, text)) {
    case Received::kAll:
      break;
    case Received::kEnd:
      return die(nullptr);
    case Received::kLate:
      return die(fmt::format("its process did not answer within {} s and was ended",
                             static_cast<double>(timeout_ms_) / 1000)
                     .c_str());
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
