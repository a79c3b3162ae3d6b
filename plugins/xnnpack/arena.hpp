// SPDX-License-Identifier: Apache-2.0
// XNNPACK workspaces: memory for intermediate values, shared by runtimes that do not run at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// One workspace. If a runtime needs more memory than the workspace has, XNNPACK moves the memory of all.
struct Arena {
  Workspace workspace;
  std::mutex running;  // locked by the run that uses the memory: from its reshape to its last result
  std::mutex users;    // locked while a runtime joins, leaves or moves the others; locked after `running`
};

// An arena locked for one run.
struct HeldArena {
  std::shared_ptr<Arena> arena;
  std::unique_lock<std::mutex> running;
};

// The arenas of a plugin. Grows to the maximum number of concurrent runs. An arena is freed with its last
// runtime. [any] thread.
class ArenaPool {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Arena>> make_arena();

  // Returns the first arena. All runs use it unless they overlap.
  [[nodiscard]] Result<std::shared_ptr<Arena>> first();
  // Returns the first arena without a run, locked.
  [[nodiscard]] Result<HeldArena> hold_free();

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Arena>> arenas_;
};

}  // namespace etb::xnnpack
