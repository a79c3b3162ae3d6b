// SPDX-License-Identifier: Apache-2.0
// RunThread: runs a module's methods on a thread of its own, one run at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "etb/module.h"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

// A run that the application asked for.
struct AsyncRun {
  std::string method;
  RunLimits limits;
  etb_run_done_fn done = nullptr;
  void* ctx = nullptr;
};

class RunThread {
 public:
  using Execute = std::function<etb_status(const AsyncRun& run, etb_error* error)>;

  // `execute` runs on the thread, which starts with the first run. `ended` is called on it after each run,
  // before the application learns of the end.
  RunThread(Execute execute, std::function<void()> ended)
      : execute_(std::move(execute)), ended_(std::move(ended)) {}
  RunThread(const RunThread&) = delete;
  RunThread& operator=(const RunThread&) = delete;
  ~RunThread();  // waits for the present run

  // Starts a run. Must not be called while one is under way.
  [[nodiscard]] etb_status start(AsyncRun run, etb_error* error);

  // Waits until no run is under way, and returns the status of the latest.
  etb_status wait(uint64_t timeout_ns, etb_error* error);

  bool is_own_thread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void work();

  Execute execute_;
  std::function<void()> ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  AsyncRun next_;
  bool has_next_ = false;
  bool has_result_ = false;
  bool stops_ = false;
  etb_status status_ = ETB_OK;
  etb_error error_ = ETB_ERROR_INIT;
  std::thread thread_;
};

}  // namespace etb::host
