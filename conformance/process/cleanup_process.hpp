// SPDX-License-Identifier: Apache-2.0
// Cleans up after a run: the process groups of its children, and its temporary folder. A separate process
// waits for the end of the run, however it ends, so a killed run leaves nothing, too.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::conformance {

class CleanupProcess {
 public:
  // Also removes folders of runs whose cleanup process was killed. Call it only while this process has one thread.
  [[nodiscard]] static Result<std::unique_ptr<CleanupProcess>> start();
  ~CleanupProcess();  // cleans up and waits for the cleanup process
  CleanupProcess(const CleanupProcess&) = delete;
  CleanupProcess& operator=(const CleanupProcess&) = delete;

  // First call in a child of the run: creates its process group, and ends it with its parent. Unmaps memory
  // shared with the cleanup process from it and its descendants.
  void take_child(pid_t parent);
  // Call in a helper of the run, which starts such children: it ends with its parent.
  void take_helper(pid_t parent);
  // Call in the parent: kills the group.
  void end_group(pid_t pid);

  // Creates a folder for temporary files of one plugin's process. Its name looks like any program's, so that
  // a plugin cannot recognise it.
  [[nodiscard]] Result<std::string> make_folder();
  void remove_folder(const std::string& folder);

 private:
  struct Groups;
  CleanupProcess() = default;
  [[noreturn]] void watch();
  void clear();

  std::string folder_;  // holds the lock, and one empty file for each folder created
  int lock_fd_ = -1;
  int pipe_fd_ = -1;   // never written; closed when this process ends
  int watch_fd_ = -1;  // the end of the cleanup process
  pid_t pid_ = -1;
  Groups* groups_ = nullptr;  // shared memory
};

}  // namespace etb::conformance
