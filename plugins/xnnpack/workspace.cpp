// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/workspace.hpp"

namespace etb::xnnpack {

Result<std::shared_ptr<Workspace>> WorkspacePool::make_workspace() {
  auto made = std::make_shared<Workspace>();
  xnn_workspace_t handle = nullptr;
  ETB_TRY(from_xnn(xnn_create_workspace(&handle), "workspace"));
  made->handle.reset(handle);
  return made;
}

// With `workspace_sharing_mode` "global" all runtimes must get one workspace. So a slot of the list that became free does
// not decide which is the first.
Result<std::shared_ptr<Workspace>> WorkspacePool::first() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Workspace> found = first_.lock();
  for (size_t i = 0; i < workspaces_.size() && found == nullptr; ++i) found = workspaces_[i].lock();
  if (found == nullptr) {
    ETB_ASSIGN(found, make_workspace());
    add(found);
  }
  first_ = found;
  return found;
}

Result<LockedWorkspace> WorkspacePool::lock_free() {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : workspaces_) {
    auto workspace = entry.lock();
    if (!workspace) continue;
    std::unique_lock running(workspace->running, std::try_to_lock);
    if (running) return LockedWorkspace{std::move(workspace), std::move(running)};
  }
  ETB_ASSIGN(auto made, make_workspace());
  std::unique_lock running(made->running);
  add(made);
  return LockedWorkspace{std::move(made), std::move(running)};
}

// Takes the place of a workspace that was freed, if there is one.
void WorkspacePool::add(const std::shared_ptr<Workspace>& workspace) {
  for (auto& entry : workspaces_) {
    if (!entry.expired()) continue;
    entry = workspace;
    return;
  }
  workspaces_.push_back(workspace);
}

}  // namespace etb::xnnpack
