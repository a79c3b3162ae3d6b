#include "conformance/runner/confinement.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace etb::conformance {
namespace {

void write_text(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!::write(fd, text.data(), text.size());
  ::close(fd);
}

}  // namespace

Status leave_network() {
  if (::unshare(CLONE_NEWNET) == 0) return {};
  // Without privileges only together with a user namespace, in which we are who we were.
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
    return make_error(Code::ACCESS_FAILED, std::string("unshare: ") + std::strerror(errno));
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1");
  write_text("/proc/self/gid_map", std::to_string(group) + " " + std::to_string(group) + " 1");
  return {};
}

Status can_leave_network() {
  const pid_t child = ::fork();
  if (child == 0) {
    const Status left = leave_network();
    ::_exit(left ? 0 : errno & 0x7f);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child)
    return make_error(Code::OUT_OF_RESOURCES, "no process that could try");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return make_error(Code::ACCESS_FAILED, std::string("unshare: ") +
                                             std::strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EPERM));
}

}  // namespace etb::conformance
