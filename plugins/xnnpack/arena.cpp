// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/arena.hpp"

namespace etb::xnnpack {

Result<std::shared_ptr<Arena>> ArenaPool::make_arena() {
  auto made = std::make_shared<Arena>();
  xnn_workspace_t workspace = nullptr;
  ETB_TRY(from_xnn(xnn_create_workspace(&workspace), "workspace"));
  made->workspace.reset(workspace);
  return made;
}

Result<std::shared_ptr<Arena>> ArenaPool::first() {
  const std::lock_guard lock(mutex_);
  for (const auto& place : arenas_)
    if (auto arena = place.lock()) return arena;
  ETB_ASSIGN(auto made, make_arena());
  arenas_.assign(1, made);
  return made;
}

Result<HeldArena> ArenaPool::hold_free() {
  const std::lock_guard lock(mutex_);
  for (const auto& place : arenas_) {
    auto arena = place.lock();
    if (!arena) continue;
    std::unique_lock running(arena->running, std::try_to_lock);
    if (running) return HeldArena{std::move(arena), std::move(running)};
  }
  ETB_ASSIGN(auto made, make_arena());
  std::unique_lock running(made->running);
  for (auto& place : arenas_) {
    if (!place.expired()) continue;
    place = made;
    return HeldArena{std::move(made), std::move(running)};
  }
  arenas_.push_back(made);
  return HeldArena{std::move(made), std::move(running)};
}

}  // namespace etb::xnnpack
