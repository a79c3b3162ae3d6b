// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/run_watchdog.hpp"

#include <csignal>

#include <algorithm>
#include <chrono>

namespace etb::host {

namespace {

// A cancel flag wakes no thread, so the watchdog polls it. It also repeats each cancel call, because the
// plugin may not have started the run at the first one.
constexpr uint64_t kFlagPeriodNs = 5000000;
// Limits each wait, because an application's own clock may run faster than the system's.
constexpr uint64_t kMostNs = 20000000;

}  // namespace

RunWatchdog::~RunWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

RunWatchdog::Watch::Watch(RunWatchdog& watchdog, const Context& context, const RunLimits& limits,
                          const PlatformHooks& platform)
    : watchdog_(watchdog), context_(context), limits_(limits), platform_(platform) {
  const std::lock_guard lock(watchdog_.mutex_);
  if (!watchdog_.thread_.joinable()) watchdog_.start();
  next_ = watchdog_.first_;
  if (next_ != nullptr) next_->previous_ = this;
  watchdog_.first_ = this;
  watchdog_.changed_.notify_one();
}

RunWatchdog::Watch::~Watch() {
  const std::lock_guard lock(watchdog_.mutex_);
  (previous_ != nullptr ? previous_->next_ : watchdog_.first_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

bool RunWatchdog::Watch::is_due() const {
  if (limits_.cancel != nullptr && limits_.cancel->load(std::memory_order_relaxed)) return true;
  return limits_.deadline_ns != 0 && platform_.now_ns(platform_.self) >= limits_.deadline_ns;
}

// Blocks all signals in the watchdog thread, so that the application's threads receive them.
void RunWatchdog::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

uint64_t RunWatchdog::wait_ns() const {
  uint64_t wait = kMostNs;
  for (const Watch* watch = first_; watch != nullptr; watch = watch->next_) {
    if (watch->limits_.cancel != nullptr) wait = std::min(wait, kFlagPeriodNs);
    const uint64_t now = watch->platform_.now_ns(watch->platform_.self),
                   deadline = watch->limits_.deadline_ns;
    if (deadline != 0) wait = std::min(wait, deadline > now ? deadline - now : kFlagPeriodNs);
  }
  return wait;
}

void RunWatchdog::loop() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    for (const Watch* watch = first_; watch != nullptr; watch = watch->next_) {
      // The run continues when a plugin cannot stop.
      if (watch->is_due()) static_cast<void>(watch->context_.cancel());
    }
    if (first_ != nullptr) {
      changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns()));
    } else {
      changed_.wait(lock);
    }
  }
}

}  // namespace etb::host
