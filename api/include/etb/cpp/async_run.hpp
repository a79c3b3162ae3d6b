// SPDX-License-Identifier: Apache-2.0
//
// One run that execute_async started: the fences before it, and those after it. Part of etb/cpp/plugin.hpp.
#pragma once

#include <poll.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "etb/cpp/guard.hpp"
#include "etb/cpp/run.hpp"

namespace etb {

// The request of a cancel() to the run in flight.
class StopRequest {
 public:
  void begin() noexcept { state_ = kRunning; }
  void end() noexcept { state_ = kIdle; }
  // [any] Does nothing without a run.
  void make() noexcept {
    int expected = kRunning;
    (void)state_.compare_exchange_strong(expected, kStopped);
  }
  // Returns ETB_CANCELLED when the run should stop.
  Status check() const {
    if (state_ != kStopped) return {};
    return make_error(Code::CANCELLED, "the run was cancelled");
  }

 private:
  static constexpr int kIdle = 0, kRunning = 1, kStopped = 2;
  std::atomic<int> state_{kIdle};
};

// A run and its end. Copies are the same run. The base has checked the fences: those to signal are callbacks, those to wait for
// are descriptors that become readable ("sync-fd").
class AsyncRun {
 public:
  AsyncRun(const Run& run, std::atomic<bool>& is_in_flight) : run_(run), is_in_flight_(&is_in_flight) {}

  const Run& run() const { return run_; }

  // Waits for the fences before the run, `most_ms` for each. False: not all of them are reached.
  Result<bool> await_fences(int most_ms) const {
    const etb_exec_args& args = run_.raw();
    for (uint32_t i = 0; i < args.wait_count; ++i) {
      pollfd polled{ETB_AT(etb_fence, args.wait, i)->fd, POLLIN, 0};
      const int count = ::poll(&polled, 1, most_ms);
      if (count == 0 || (count < 0 && errno == EINTR)) return false;
      if (count < 0 || (polled.revents & POLLIN) == 0)
        return make_error(Code::INVALID_ARGUMENT, "wait fence " + std::to_string(i) +
                                                      ": its descriptor ended without becoming readable");
    }
    return true;
  }

  // Reports the end of the run, whose outputs are written. Once. The context may run again, or end, before this returns.
  void finish(const Status& status) const noexcept {
    etb_status code = ETB_OK;
    if (!status) {
      code = static_cast<etb_status>(status.error().code);
      // Fences carry no text.
      if (code != ETB_CANCELLED && code != ETB_DEADLINE_EXCEEDED)
        run_.host().log(ETB_LOG_WARNING, status.error().message.c_str());
    }
    const etb_fence* const fences = run_.raw().signal;
    const uint32_t count = run_.raw().signal_count;
    *is_in_flight_ = false;
    for (uint32_t i = 0; i < count; ++i) {
      const etb_fence& fence = *ETB_AT(etb_fence, fences, i);
      fence.signal(fence.handle, code);
    }
  }

 private:
  Run run_;
  std::atomic<bool>* is_in_flight_;
};

namespace detail {

// Accepts the fences of a run that the base can signal and wait for.
inline Status accept_fences(const etb_exec_args& args) {
  const auto accept = [](const etb_fence* fences, uint32_t index, const char* what,
                         const char* kind) -> Status {
    const etb_fence* fence = ETB_AT(etb_fence, fences, index);
    ETB_TRY(ETB_ACCEPT(etb_fence, fence, reserved_pointer));
    if (fence->kind != nullptr && std::strcmp(fence->kind, kind) == 0) return {};
    return make_error(Code::NOT_SUPPORTED, std::string(what) + " fence " + std::to_string(index) + ": kind '" +
                                               (fence->kind != nullptr ? fence->kind : "") + "', expected '" +
                                               kind + "'");
  };
  if (args.signal_count == 0)
    return make_error(Code::INVALID_ARGUMENT, "no fence to signal, expected one at least");
  for (uint32_t i = 0; i < args.signal_count; ++i) {
    ETB_TRY(accept(args.signal, i, "signal", "callback"));
    if (ETB_AT(etb_fence, args.signal, i)->signal == nullptr)
      return make_error(Code::INVALID_ARGUMENT, "signal fence " + std::to_string(i) + ": no function");
  }
  for (uint32_t i = 0; i < args.wait_count; ++i) ETB_TRY(accept(args.wait, i, "wait", "sync-fd"));
  return {};
}

}  // namespace detail
}  // namespace etb
