// What must not outlive a run: process groups of its children, and its temporary folder. A process of its own waits for the end of the
// run, however that comes, and clears up; so a run that is killed leaves nothing behind either.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::conformance {

class Keeper {
 public:
  // Folders of runs whose keeper was killed, too, go first. Only while this process has one thread.
  [[nodiscard]] static Result<std::unique_ptr<Keeper>> start();
  ~Keeper();  // clears up, and waits for it
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // In a child of the run, first of all: it is a group of its own from here, and dies with its parent. Memory that it shares with the keeper is
  // gone from it and from what it starts.
  void take_child(pid_t parent);
  // In a helper of the run, which starts such children: it dies with its parent.
  void take_helper(pid_t parent);
  // In the parent: the group is killed.
  void end_group(pid_t pid);

  // A folder for temporary files of one plugin's process. Its name is as that of any program's, so that a plugin does not know it.
  [[nodiscard]] Result<std::string> make_folder();
  void remove_folder(const std::string& folder);

 private:
  struct Groups;
  Keeper() = default;
  [[noreturn]] void watch();
  void clear();

  std::string folder_;  // has the lock, and one empty file for each folder that was made
  int lock_fd_ = -1;
  int pipe_fd_ = -1;   // nobody writes; its end is ours
  int watch_fd_ = -1;  // the keeper's
  pid_t pid_ = -1;
  Groups* groups_ = nullptr;  // shared
};

}  // namespace etb::conformance
