// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/file_watch.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {

#if defined(__x86_64__) || defined(__aarch64__)
namespace {

// A call with a path: the index of its folder descriptor or -1, of the path, and of the open flags or -1.
struct PathCall {
  uint32_t number;
  int folder, path, flags;
};
constexpr PathCall kCalls[] = {
#if defined(__x86_64__)
    {SYS_open, -1, 0, 1},    {SYS_creat, -1, 0, -1},    {SYS_mkdir, -1, 0, -1},   {SYS_rmdir, -1, 0, -1},
    {SYS_unlink, -1, 0, -1}, {SYS_rename, -1, 1, -1},   {SYS_link, -1, 1, -1},    {SYS_symlink, -1, 1, -1},
    {SYS_mknod, -1, 0, -1},  {SYS_renameat, 2, 3, -1},
#endif
    {SYS_openat, 0, 1, 2},   {SYS_mkdirat, 0, 1, -1},   {SYS_unlinkat, 0, 1, -1}, {SYS_renameat2, 2, 3, -1},
    {SYS_linkat, 2, 3, -1},  {SYS_symlinkat, 1, 2, -1}, {SYS_mknodat, 0, 1, -1},  {SYS_truncate, -1, 0, -1},
};
constexpr uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

uint32_t argument(int index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) + sizeof(uint64_t) * static_cast<size_t>(index));
}

// Returns a descriptor that reports the calls of this process, or -1.
int install_filter() {
  constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  const sock_filter allow{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_filter report{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF};
  std::vector<sock_filter> filter = {{kLoad, 0, 0, offsetof(seccomp_data, arch)},
                                     {kEqual, 1, 0, kArchitecture},
                                     allow,
                                     {kLoad, 0, 0, offsetof(seccomp_data, nr)}};
  for (const PathCall& call : kCalls) {
    if (call.flags < 0) {
      filter.push_back({kEqual, 0, 1, call.number});
    } else {
      filter.push_back({kEqual, 0, 4, call.number});
      filter.push_back({kLoad, 0, 0, argument(call.flags)});
      filter.push_back({BPF_JMP | BPF_JSET | BPF_K, 1, 0, kWriting});
      filter.push_back(allow);
    }
    filter.push_back(report);
  }
  filter.push_back(allow);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

void send_descriptor(int socket, int fd) {
  char byte = fd >= 0 ? 'y' : 'n';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &fd, sizeof(fd));
  }
  (void)::sendmsg(socket, &message, MSG_NOSIGNAL);
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* const head = CMSG_FIRSTHDR(&message);
  int fd = -1;
  if (head != nullptr && head->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(head), sizeof(fd));
  return fd;
}

std::string link_target(const std::string& path) {
  char text[4096];
  const ssize_t count = ::readlink(path.c_str(), text, sizeof(text));
  return count > 0 ? std::string(text, static_cast<size_t>(count)) : "";
}

// Returns "" if the path cannot be read.
std::string path_of(const seccomp_notif& seen) {
  const PathCall* call = nullptr;
  for (const PathCall& one : kCalls)
    if (one.number == static_cast<uint32_t>(seen.data.nr)) call = &one;
  if (call == nullptr) return "";
  const std::string process = "/proc/" + std::to_string(seen.pid);
  const int memory = ::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) return "";
  char text[4096] = {};
  // A path may end right before memory that cannot be read.
  size_t length = 0;
  while (length < sizeof(text) - 1 &&
         ::pread(memory, text + length, 1, static_cast<off_t>(seen.data.args[call->path] + length)) == 1 &&
         text[length] != '\0')
    ++length;
  ::close(memory);
  const std::string path(text, length);
  if (path.empty() || path[0] == '/') return path;
  const int folder = call->folder < 0 ? AT_FDCWD : static_cast<int>(seen.data.args[call->folder]);
  return link_target(folder == AT_FDCWD ? process + "/cwd" : process + "/fd/" + std::to_string(folder)) +
         "/" + path;
}

// True for a call that makes a folder which is there already: it changes nothing.
bool is_vain(const seccomp_notif& seen, const std::string& path) {
  struct stat facts {};
#if defined(__x86_64__)
  const bool makes_folder = seen.data.nr == SYS_mkdir || seen.data.nr == SYS_mkdirat;
#else
  const bool makes_folder = seen.data.nr == SYS_mkdirat;
#endif
  return makes_folder && ::stat(path.c_str(), &facts) == 0;
}

// Answers the calls of the child until it ends. Returns false if it takes too long.
bool serve(int listener, pid_t child, uint64_t most_ms, std::set<std::string>& out) {
  const uint64_t begin = monotonic_ns();
  for (;;) {
    pollfd waiting{listener, POLLIN, 0};
    ::poll(&waiting, 1, 20);
    if ((waiting.revents & POLLIN) != 0) {
      seccomp_notif seen{};
      if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &seen) == 0) {
        if (const std::string path = path_of(seen); !path.empty() && !is_vain(seen, path)) out.insert(path);
        seccomp_notif_resp answer{};
        answer.id = seen.id;
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
      }
      continue;
    }
    if (::waitpid(child, nullptr, WNOHANG) == child) return true;
    if (monotonic_ns() - begin < most_ms * 1000000) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return false;
  }
}

}  // namespace

std::optional<std::set<std::string>> watch_files(const std::function<void()>& body, uint64_t most_ms) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    const int listener = install_filter();
    send_descriptor(ends[1], listener);
    if (listener >= 0) {
      ::close(listener);
      body();
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  const int listener = child > 0 ? receive_descriptor(ends[0]) : -1;
  ::close(ends[0]);
  std::set<std::string> paths;
  const bool has_ended = listener >= 0 && serve(listener, child, most_ms, paths);
  if (listener >= 0)
    ::close(listener);
  else if (child > 0)
    ::waitpid(child, nullptr, 0);
  if (!has_ended) return std::nullopt;
  return paths;
}
#else
std::optional<std::set<std::string>> watch_files(const std::function<void()>&, uint64_t) {
  return std::nullopt;
}
#endif

}  // namespace etb::conformance
