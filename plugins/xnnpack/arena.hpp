// XNNPACK's workspaces, where runtimes keep what lies between their nodes, shared by runtimes that do not run at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// One workspace. When a runtime needs more of it than there is, XNNPACK moves the memory of all its runtimes.
struct Arena {
  Workspace workspace;
  std::mutex running;  // held by the run that has the memory: from its reshape to its last result
  std::mutex users;    // held while a runtime joins, leaves or moves the others; taken after `running`
};

// An arena in which nobody else runs until this goes.
struct HeldArena {
  std::shared_ptr<Arena> arena;
  std::unique_lock<std::mutex> running;
};

// The arenas of a plugin: as many as there were ever runs at the same time, and each lives as long as a runtime in it. [any] thread.
class ArenaPool {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Arena>> make_arena();

  // The first, which everybody uses as long as nobody runs at the same time.
  [[nodiscard]] Result<std::shared_ptr<Arena>> first();
  // The first in which nobody runs.
  [[nodiscard]] Result<HeldArena> hold_free();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Arena>> arenas_;
};

}  // namespace etb::xnnpack
