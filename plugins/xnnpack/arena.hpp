// XNNPACK's workspace, where runtimes keep what lies between their nodes, when several share one.
#pragma once

#include <mutex>

#include "plugins/xnnpack/xnn_handles.hpp"

namespace etb::xnnpack {

// Whoever touches a runtime of it holds its lock: XNNPACK moves the memory of all when one of them grows.
struct Arena {
  Workspace workspace;
  std::mutex mutex;

  // Locks an arena, when there is one.
  class Lock {
   public:
    explicit Lock(const std::shared_ptr<Arena>& arena) : arena_(arena.get()) {
      if (arena_ != nullptr) arena_->mutex.lock();
    }
    ~Lock() {
      if (arena_ != nullptr) arena_->mutex.unlock();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Arena* arena_;
  };
};

}  // namespace etb::xnnpack
