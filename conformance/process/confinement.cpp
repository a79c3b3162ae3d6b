// SPDX-License-Identifier: Apache-2.0
#include "conformance/process/confinement.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace etb::conformance {
namespace {

tl::unexpected<Error> system_error(const std::string& call) {
  return make_error(Code::ACCESS_FAILED, call + ": " + std::strerror(errno));
}

Status write_text(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path);
  const ssize_t count = ::write(fd, text.data(), text.size());
  const int number = errno;
  ::close(fd);
  errno = number;
  if (count != static_cast<ssize_t>(text.size())) return system_error(path);
  return {};
}

// Maps the process to its own user inside the namespace. Without privileges no other id can be mapped.
Status map_own_user(uid_t user, gid_t group) {
  const std::string user_map = std::to_string(user) + " " + std::to_string(user) + " 1";
  const std::string group_map = std::to_string(group) + " " + std::to_string(group) + " 1";
  // The files belong to root while the process is not dumpable.
  ::prctl(PR_SET_DUMPABLE, 1);
  (void)write_text("/proc/self/setgroups", "deny");
  ETB_TRY(write_text("/proc/self/uid_map", user_map));
  return write_text("/proc/self/gid_map", group_map);
}

Status mount_temporary(const std::string& folder, uint64_t nbytes, const char* mode) {
  const std::string options = "size=" + std::to_string(nbytes) + ",nr_inodes=16384,mode=" + mode;
  if (::mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return system_error("mount tmpfs");
  return {};
}

// Ids before the namespace exists: until they are mapped, getuid() returns the overflow id.
struct Ids {
  uid_t user = ::getuid();
  gid_t group = ::getgid();
};
const Ids& own_ids() {
  static const Ids ids;
  return ids;
}

bool works(const Confinement& candidate, std::string& out_why_not) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  (void)own_ids();
  const pid_t child = fork_confined(candidate);
  if (child == 0) {
    std::error_code failed;
    const std::string folder = std::filesystem::temp_directory_path(failed).string();
    const Status made = set_up_namespaces(candidate, folder, 1 << 20);
    if (!made) (void)!::write(ends[1], made.error().message.data(), made.error().message.size());
    ::_exit(made ? 0 : 1);
  }
  const int number = errno;
  ::close(ends[1]);
  char text[256];
  const ssize_t count = child > 0 ? ::read(ends[0], text, sizeof(text)) : 0;
  ::close(ends[0]);
  int status = 1;
  if (child > 0) ::waitpid(child, &status, 0);
  if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  if (out_why_not.empty())
    out_why_not = child < 0 ? std::string("clone: ") + std::strerror(number)
                            : std::string(text, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return false;
}

}  // namespace

Confinement find_confinement(bool keeps_network, std::string& out_why_not) {
  for (const bool has_namespaces : {true, false})
    for (const bool has_user : {false, true}) {
      const Confinement candidate{has_namespaces, !keeps_network, has_user};
      if (!has_namespaces && keeps_network) return {};
      if (works(candidate, out_why_not)) {
        if (has_namespaces) out_why_not.clear();
        return candidate;
      }
    }
  return {};
}

pid_t fork_confined(const Confinement& confinement) {
  (void)own_ids();
  const unsigned long flags = (confinement.has_namespaces ? CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC : 0) |
                              (confinement.has_network_cut ? CLONE_NEWNET : 0) |
                              (confinement.has_user_namespace ? CLONE_NEWUSER : 0);
  if (flags == 0) return ::fork();
  return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
}

Status set_up_namespaces(const Confinement& confinement, const std::string& folder,
                         uint64_t temporary_bytes) {
  if (confinement.has_user_namespace) ETB_TRY(map_own_user(own_ids().user, own_ids().group));
  if (!confinement.has_namespaces) return {};
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return system_error("mount /");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return system_error("mount /proc");
  ETB_TRY(mount_temporary(folder, temporary_bytes, "0700"));
  std::error_code failed;
  if (std::filesystem::is_directory("/dev/shm", failed))
    ETB_TRY(mount_temporary("/dev/shm", temporary_bytes, "1777"));
  return {};
}

uid_t overflow_user() {
  std::ifstream in("/proc/sys/kernel/overflowuid");
  uid_t user = 65534;
  in >> user;
  return user;
}

Status give_up_privileges() {
  for (unsigned long one = 0; one <= 63; ++one) (void)::prctl(PR_CAPBSET_DROP, one, 0, 0, 0);
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return system_error("capset");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_error("no new privileges");
  return {};
}

}  // namespace etb::conformance
