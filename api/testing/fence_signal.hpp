// SPDX-License-Identifier: Apache-2.0
// For tests: the signal fence of one asynchronous run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "etb/delegate.h"

namespace etb {

class FenceSignal {
 public:
  // Becomes the one signal fence of `args`.
  explicit FenceSignal(etb_exec_args& args) {
    fence_.struct_size = ETB_INIT_SIZE(etb_fence);
    fence_.kind = "callback";
    fence_.handle = this;
    fence_.fd = -1;
    fence_.signal = [](void* handle, etb_status status) { static_cast<FenceSignal*>(handle)->take(status); };
    args.signal = &fence_;
    args.signal_count = 1;
  }
  FenceSignal(const FenceSignal&) = delete;
  FenceSignal& operator=(const FenceSignal&) = delete;

  // Blocks until the signal comes. Returns the status of the run; after 30 seconds, -1.
  etb_status wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [this] { return count_ != 0; })) return -1;
    return status_;
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  void take(etb_status status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    ++count_;
    changed_.notify_all();
  }

  etb_fence fence_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
  etb_status status_ = ETB_OK;
};

}  // namespace etb
