// SPDX-License-Identifier: Apache-2.0
// For tests of overlapped runs: plugins "BackendA", without asynchronous runs, and "BackendB", with a thread for them. Two runs
// meet only if both are under way at once, so no test depends on time.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "host/testing/toy_plugin.hpp"

namespace etb::host {

inline constexpr auto kLongest = std::chrono::seconds(20);  // ends a failing test

// Number of runs that are under way, and the number that each waits for.
inline std::atomic<int> present{0}, most_present{0}, wanted{0};
inline std::atomic<int> async_calls{0};
inline std::atomic<bool> fails_b{false}, fails_a{false};
// Fences that runs of b waited for, or refused to wait for. Runs of a end after a run of b was started.
inline std::atomic<int> awaited_fences{0}, refused_fences{0}, stopped_runs{0};
inline std::atomic<bool> refuses_fences{false}, a_waits_for_b{false}, is_cancelled{false};

inline void meet() {
  const int now = ++present;
  int most = most_present;
  while (most < now && !most_present.compare_exchange_weak(most, now)) {
  }
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (most_present < wanted && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  --present;
}

inline etb_status run_toy(etb_context* context, const etb_exec_args* args, etb_error* error,
                          const std::atomic<bool>& fails, const char* name) {
  meet();
  if (!fails) return toy_tables().delegate.execute(context, args, error);
  error->code = ETB_UNAVAILABLE;
  std::snprintf(error->text, sizeof error->text, "%s is lost", name);
  return ETB_UNAVAILABLE;
}

// Without asynchronous runs.
inline const etb_plugin_table* ETB_CALL query_a(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    const auto end = std::chrono::steady_clock::now() + kLongest;
    while (a_waits_for_b && async_calls == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    return run_toy(context, args, error, fails_a, "a");
  };
  toy.delegate.caps &= ~ETB_DELEGATE_CAP_EXECUTE_ASYNC;
  toy.delegate.execute_async = nullptr;
  return &toy.plugin;
}

// Returns false if the run is cancelled first.
inline bool await_fences(const etb_exec_args& args) {
  for (uint32_t i = 0; i < args.wait_count; ++i) {
    pollfd polled{ETB_AT(etb_fence, args.wait, i)->fd, POLLIN, 0};
    while (!is_cancelled && ::poll(&polled, 1, 1) == 0) {
    }
    if (is_cancelled) return false;
#ifdef __SANITIZE_THREAD__  // ThreadSanitizer does not see that poll() is after the write; it does of read()
    uint64_t count = 0;
    if (::read(polled.fd, &count, sizeof count) > 0) (void)!::write(polled.fd, &count, sizeof count);
#endif
    ++awaited_fences;
  }
  return true;
}

// The thread of plugin b. One run at a time.
class DeviceThread {
 public:
  void post(etb_context* context, const etb_exec_args* args) {
    const std::lock_guard lock(mutex_);
    context_ = context;
    args_ = args;
    posted_.notify_one();
  }
  ~DeviceThread() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      posted_.notify_one();
    }
    thread_.join();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      posted_.wait(lock, [this] { return args_ != nullptr || is_over_; });
      if (args_ == nullptr) return;
      const etb_exec_args& args = *std::exchange(args_, nullptr);
      lock.unlock();
      const etb_fence fence = *args.signal;
      fence.signal(fence.handle, run(args));
      lock.lock();
    }
  }
  etb_status run(const etb_exec_args& args) {
    etb_error error = ETB_ERROR_INIT;
    if (await_fences(args)) return run_toy(context_, &args, &error, fails_b, "b");
    ++stopped_runs;
    return ETB_CANCELLED;
  }

  std::mutex mutex_;
  std::condition_variable posted_;
  etb_context* context_ = nullptr;
  const etb_exec_args* args_ = nullptr;
  bool is_over_ = false;
  std::thread thread_{[this] { loop(); }};
};

// With asynchronous runs, on a thread of the plugin.
inline const etb_plugin_table* ETB_CALL query_b(const etb_host*, uint32_t, uint32_t) {
  static ToyPlugin toy;
  static DeviceThread device;
  std::strcpy(toy.ident.id, "org.etbackend.toy-b");
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) {
    return run_toy(context, args, error, fails_b, "b");
  };
  toy.delegate.caps |= ETB_DELEGATE_CAP_EXECUTE_ASYNC;
  toy.delegate.cancel = [](etb_context*, etb_error*) -> etb_status {
    is_cancelled = true;
    return ETB_OK;
  };
  toy.delegate.execute_async = [](etb_context* context, const etb_exec_args* args,
                                  etb_error* error) -> etb_status {
    if (refuses_fences && args->wait_count != 0) {
      ++refused_fences;
      return fail(error, ETB_NOT_SUPPORTED, "fences");
    }
    is_cancelled = false;
    ++async_calls;
    device.post(context, args);
    return ETB_OK;
  };
  return &toy.plugin;
}

inline const etb_static_plugin kOverlappedPlugins[] = {
    {ETB_INIT_SIZE(etb_static_plugin), 0, &query_a, "BackendA"},
    {ETB_INIT_SIZE(etb_static_plugin), 0, &query_b, "BackendB"}};

}  // namespace etb::host
