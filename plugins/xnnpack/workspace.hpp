// SPDX-License-Identifier: Apache-2.0
// XNNPACK workspaces: memory for intermediate values, shared by runtimes that do not run at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// One workspace. If a runtime needs more memory than the workspace has, XNNPACK moves the memory of all.
struct Workspace {
  WorkspaceHandle handle;
  std::mutex running;  // locked by the run that uses the memory: from its reshape to its last result
  std::mutex users;    // locked while a runtime joins, leaves or moves the others; locked after `running`
};

// A workspace locked for one run.
struct LockedWorkspace {
  std::shared_ptr<Workspace> workspace;
  std::unique_lock<std::mutex> running;
};

// The workspaces of a plugin. Grows to the maximum number of concurrent runs. A workspace is freed with its last
// runtime. [any] thread.
class WorkspacePool {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Workspace>> make_workspace();

  // Returns the first workspace, which stays the same one as long as it lives. All runs use it unless they overlap.
  [[nodiscard]] Result<std::shared_ptr<Workspace>> first();
  // Returns the first workspace that no run uses, locked for the caller.
  [[nodiscard]] Result<LockedWorkspace> lock_free();

 private:
  void add(const std::shared_ptr<Workspace>& workspace);

  std::mutex mutex_;  // guards the members below
  std::vector<std::weak_ptr<Workspace>> workspaces_;
  std::weak_ptr<Workspace> first_;  // one of `workspaces_`
};

}  // namespace etb::xnnpack
