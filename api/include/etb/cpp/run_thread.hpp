// SPDX-License-Identifier: Apache-2.0
//
// A thread for asynchronous runs. A plugin that includes this declares ETB_PLUGIN_OWN_THREADS (ABI-HYG-02).
//
//   class MyContext {
//    public:
//     explicit MyContext(const MyDelegate&);
//     etb::Status execute(const etb::Run& run) {
//       stop_.begin();
//       const etb::Status status = run_now(run);              // asks stop_.check() now and then
//       stop_.end();
//       return status;
//     }
//     etb::Status start(const etb::AsyncRun& run) { return thread_.start(run); }
//     etb::Status cancel() { return stop_.make(), etb::Status(); }
//    private:
//     etb::Status run_now(const etb::Run& run);
//     etb::StopRequest stop_;
//     etb::RunThread thread_{this, [](void* self, const etb::Run& run) { return static_cast<MyContext*>(self)->run_now(run); }, stop_};
//   };
#pragma once

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "etb/cpp/async_run.hpp"

namespace etb {

// A thread that blocks all signals: the host's handlers run on the host's threads.
class OwnThread {
 public:
  OwnThread() = default;
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;

  // Starts it. `body` returns soon after the owner asks it to.
  Status start(void* (*body)(void*), void* of) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = ::pthread_create(&thread_, nullptr, body, of);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0) return make_error(Code::OUT_OF_RESOURCES, "no thread for asynchronous runs");
    process_ = ::getpid();
    return {};
  }
  // False in a forked process, which has none of the threads.
  bool is_running() const noexcept { return process_ == ::getpid(); }
  void join() noexcept {
    if (is_running()) ::pthread_join(thread_, nullptr);
    process_ = -1;
  }

 private:
  pthread_t thread_{};
  pid_t process_ = -1;  // the process that started the thread
};

// Runs what a context starts, on a thread that exists as long as the context. No run uses the heap.
class RunThread {
 public:
  using Body = Status (*)(void* self, const Run& run);

  // `stop`: of the same context, which the body asks.
  RunThread(void* self, Body body, StopRequest& stop) : self_(self), body_(body), stop_(stop) {
    started_ = thread_.start(
        [](void* of) -> void* {
          static_cast<RunThread*>(of)->loop();
          return nullptr;
        },
        this);
  }
  // No run is in flight.
  ~RunThread() {
    if (!thread_.is_running()) return;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  RunThread(const RunThread&) = delete;
  RunThread& operator=(const RunThread&) = delete;

  Status start(const AsyncRun& run) {
    ETB_TRY(started_);
    if (!thread_.is_running())
      return make_error(Code::UNAVAILABLE, "context made before a fork, expected one made by this process");
    stop_.begin();
    {
      const std::lock_guard lock(mutex_);
      next_.emplace(run);
    }
    changed_.notify_one();
    return {};
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return next_ || is_over_; });
      if (!next_) return;
      const AsyncRun run = *next_;
      next_.reset();
      lock.unlock();
      const Status status = run_one(run);
      stop_.end();
      run.finish(status);
      lock.lock();
    }
  }

  Status run_one(const AsyncRun& run) {
#if defined(__cpp_exceptions)
    try {
#endif
      ETB_TRY(await_fences(run));
      return body_(self_, run.run());
#if defined(__cpp_exceptions)
    } catch (const std::bad_alloc&) {
      return make_error(Code::OUT_OF_MEMORY, "out of memory");
    } catch (...) {
      return make_error(Code::INTERNAL, "an exception in an asynchronous run");
    }
#endif
  }

  Status await_fences(const AsyncRun& run) const {
    constexpr int kSliceMs = 5;  // most time until a cancelled run ends
    for (;;) {
      ETB_TRY(run.run().keep_going());
      ETB_TRY(stop_.check());
      ETB_ASSIGN(const bool are_reached, run.await_fences(kSliceMs));
      if (are_reached) return {};
    }
  }

  void* self_;
  Body body_;
  StopRequest& stop_;
  OwnThread thread_;
  Status started_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::optional<AsyncRun> next_;
  bool is_over_ = false;
};

}  // namespace etb
