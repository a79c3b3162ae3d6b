// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/child.hpp"

#include <fcntl.h>
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
#include <system_error>

namespace etb::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Interval for checking for Ctrl-C: a signal may arrive just before the call that waits.
constexpr int kPollMs = 50;

bool write_all(int fd, const char* from, size_t nbytes) {
  while (nbytes > 0) {
    const ssize_t count = ::send(fd, from, nbytes, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    from += count;
    nbytes -= static_cast<size_t>(count);
  }
  return true;
}

// In a process group of its own, so that Ctrl-C reaches only the parent, which then prints results. Standard
// output belongs to the report.
void prepare_child(pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0) {
    ::dup2(null, 0);
    ::dup2(null, 1);
  }
}

}  // namespace

bool Channel::send(std::string_view message) {
  const uint64_t nbytes = message.size();
  return write_all(socket_.get(), reinterpret_cast<const char*>(&nbytes), sizeof(nbytes)) &&
         write_all(socket_.get(), message.data(), message.size());
}

bool Channel::read_all(char* to, size_t nbytes, const std::atomic<bool>* interrupted, Clock::time_point end) {
  while (nbytes > 0) {
    pollfd waiting{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, interrupted == nullptr ? -1 : kPollMs);
    if (interrupted != nullptr && interrupted->load()) return false;
    if (ready == 0 && Clock::now() > end) return false;
    if (ready <= 0) continue;
    const ssize_t count = ::read(socket_.get(), to, nbytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    nbytes -= static_cast<size_t>(count);
  }
  return true;
}

std::optional<std::string> Channel::receive(const std::atomic<bool>* interrupted,
                                            std::chrono::milliseconds timeout) {
  const auto end = timeout.count() == 0 ? Clock::time_point::max() : Clock::now() + timeout;
  uint64_t nbytes = 0;
  if (!read_all(reinterpret_cast<char*>(&nbytes), sizeof(nbytes), interrupted, end)) return {};
  constexpr uint64_t kMaxNbytes = uint64_t{1} << 32;  // the other end may be a crashed process
  if (nbytes > kMaxNbytes) return {};
  std::string out(nbytes, '\0');
  if (!read_all(out.data(), out.size(), interrupted, end)) return {};
  return out;
}

Result<Child> Child::start(const std::function<void(Channel&)>& body) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return make_error(Code::OUT_OF_RESOURCES, "no socket: " + std::generic_category().message(errno));
  host::FileDescriptor ours(ends[0]), theirs(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return make_error(Code::OUT_OF_RESOURCES, "no process: " + std::generic_category().message(errno));
  if (pid == 0) {
    prepare_child(parent);
    ::close(ours.release());
    Channel channel(std::move(theirs));
    body(channel);  // throws nothing: the caller's frames belong to the parent
    ::_exit(0);
  }
  ::setpgid(pid, pid);  // both sides call it, so that neither has to wait for the other
  return Child(pid, Channel(std::move(ours)));
}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

tl::unexpected<Error> Child::describe_end(const std::atomic<bool>& interrupted) {
  if (interrupted.load()) return make_error(Code::CANCELLED, "interrupted");
  // The socket closes a moment before the process has ended.
  int status = 0;
  for (int i = 0; i < 100; ++i) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      ::kill(-pid_, SIGKILL);  // processes that it may have started
      pid_ = -1;
      if (WIFSIGNALED(status))
        return make_error(Code::INTERNAL, fmt::format("its process was ended by signal {} ({})",
                                                      WTERMSIG(status), ::strsignal(WTERMSIG(status))));
      return make_error(Code::INTERNAL, fmt::format("its process exited with code {}", WEXITSTATUS(status)));
    }
    ::usleep(10000);
  }
  return make_error(Code::DEADLINE_EXCEEDED, "its process did not answer in time");
}

Result<std::string> Child::ask(std::string_view message, const std::atomic<bool>& interrupted,
                               std::chrono::milliseconds timeout) {
  if (pid_ < 0) return make_error(Code::INTERNAL, "its process has ended");
  if (message.empty() || channel_.send(message))
    if (auto answer = channel_.receive(&interrupted, timeout)) return *std::move(answer);
  return describe_end(interrupted);
}

}  // namespace etb::bench
