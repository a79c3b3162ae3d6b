// SPDX-License-Identifier: Apache-2.0
// Confines the process that holds a plugin: namespaces if the system allows them, no privileges, no system
// calls that reach other processes.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::conformance {

struct Confinement {
  bool has_namespaces =
      false;  // own processes, mounts and IPC; temporary files in a file system of limited size
  bool has_network_cut = false;     // no network but a loopback device that is down
  bool has_user_namespace = false;  // maps the own user id only
};

// Returns the strongest confinement that works here, as tested by children. If a part is missing,
// `out_why_not` receives the system's error.
Confinement find_confinement(bool keeps_network, std::string& out_why_not);

// As fork(), but the child is in new namespaces. Call it only while this process has one thread.
pid_t fork_confined(const Confinement& confinement);

// First step in such a child: maps its user, mounts /proc, and file systems of `temporary_bytes` on `folder`
// and /dev/shm.
[[nodiscard]] Status set_up_namespaces(const Confinement& confinement, const std::string& folder,
                                       uint64_t temporary_bytes);

// Owner of root's files inside a user namespace that does not map root.
uid_t overflow_user();

// Drops all capabilities of this process and its descendants for good.
[[nodiscard]] Status give_up_privileges();

// Installs a filter for this process and its descendants. A system call ends its process (SIGSYS) if it
// traces or reads another process, or signals its own group, all processes, or one of `pids`.
[[nodiscard]] Status forbid_reaching_others(std::span<const pid_t> pids);

}  // namespace etb::conformance
