// The walls around the process that holds a plugin: namespaces where the system lets a process make them, no privileges, no system calls that
// reach other processes.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::conformance {

struct Confinement {
  bool has_namespaces =
      false;  // processes, mounts and IPC of its own; temporary files in a file system of limited size
  bool has_network_cut = false;     // no network but a loopback device that is down
  bool has_user_namespace = false;  // in which only the own user id is mapped
};

// The strongest confinement that works here, found out by children that try. `out_why_not` gets the system's error where something is
// missing.
Confinement find_confinement(bool keeps_network, std::string& out_why_not);

// As fork(), but the child is in new namespaces. Only while this process has one thread.
pid_t fork_confined(const Confinement& confinement);

// First of all in such a child: maps its user, mounts /proc, and file systems of `temporary_bytes` on `folder` and /dev/shm.
[[nodiscard]] Status set_up_namespaces(const Confinement& confinement, const std::string& folder,
                                       uint64_t temporary_bytes);

// The owner that files of root have inside a user namespace which does not map root.
uid_t overflow_user();

// For the rest of its life this process and its descendants have no capability and get none.
[[nodiscard]] Status give_up_privileges();

// From now on a system call of this process or of a descendant ends the process that makes it (SIGSYS) if it traces or reads another process,
// or signals its own group, every process, or one of `pids`.
[[nodiscard]] Status forbid_reaching_others(std::span<const pid_t> pids);

}  // namespace etb::conformance
