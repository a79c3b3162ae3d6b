// SPDX-License-Identifier: Apache-2.0
// RunWatchdog: asks plugins to stop a run after its deadline or when it is cancelled, from its own thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "etb/cpp/result.hpp"
#include "host/plugin/delegate.hpp"
#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

// Shared by all delegates of a resolver. [any] The thread starts with the first watched run, and
// sleeps while there is none.
class RunWatchdog {
 public:
  RunWatchdog() = default;
  RunWatchdog(const RunWatchdog&) = delete;
  RunWatchdog& operator=(const RunWatchdog&) = delete;
  ~RunWatchdog();

  // Watches one run of a context that can be cancelled. An object on the stack of the running thread. Its
  // destructor waits for a cancel call in progress. Only starting the thread allocates from the heap.
  class Watch {
   public:
    Watch(RunWatchdog& watchdog, const Context& context, const RunLimits& limits,
          const PlatformHooks& platform);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

   private:
    friend class RunWatchdog;
    bool is_due() const;

    RunWatchdog& watchdog_;
    const Context& context_;
    const RunLimits& limits_;
    const PlatformHooks& platform_;
    Watch* previous_ = nullptr;
    Watch* next_ = nullptr;
  };

 private:
  void start();
  void loop();
  uint64_t wait_ns() const;  // at most, until a run may be due

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  Watch* first_ = nullptr;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace etb::host
