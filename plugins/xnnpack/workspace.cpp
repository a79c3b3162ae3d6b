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

Result<std::shared_ptr<Workspace>> WorkspacePool::first() {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : workspaces_)
    if (auto workspace = entry.lock()) return workspace;
  ETB_ASSIGN(auto made, make_workspace());
  workspaces_.assign(1, made);
  return made;
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
  for (auto& entry : workspaces_) {
    if (!entry.expired()) continue;
    entry = made;
    return LockedWorkspace{std::move(made), std::move(running)};
  }
  workspaces_.push_back(made);
  return LockedWorkspace{std::move(made), std::move(running)};
}

}  // namespace etb::xnnpack
