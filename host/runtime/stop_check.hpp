// SPDX-License-Identifier: Apache-2.0
// StopCheck: checks in a loop, at the price of a subtraction, if the run has to stop.
#pragma once

#include <cstdint>

#include "etb/host.h"
#include "etb/status.h"
#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

// A loop reports its work in elements. After each kPeriod elements the check reads the clock and the cancel
// flag. The costliest elements (pow in double on a slow CPU) need 100 ns, so two reads are at most 13 ms
// apart. Not shared between threads: each has its own copy.
class StopCheck {
 public:
  static constexpr int64_t kPeriod = int64_t{1} << 17;

  StopCheck() noexcept = default;  // never stops
  // `platform` and the cancel flag outlive the check.
  StopCheck(const RunLimits& limits, const PlatformHooks& platform) noexcept;
  // For a delegate's run. `token` may be null.
  StopCheck(uint64_t deadline_ns, const etb_cancel_token* token, const PlatformHooks& platform) noexcept;

  // True when the run has to stop, and from then on. `work` is at least 1.
  bool should_stop(int64_t work) noexcept { return (left_ -= work) < 0 && look(); }

  // False if should_stop can never return true, so that a loop need not be split into pieces.
  bool is_watching() const noexcept { return platform_ != nullptr; }
  bool is_stopped() const noexcept { return reason_ != ETB_OK; }
  etb_status reason() const noexcept { return reason_; }  // ETB_OK, ETB_CANCELLED or ETB_DEADLINE_EXCEEDED

 private:
  using IsSet = bool (*)(const void* flag);
  bool look() noexcept;

  int64_t left_ = INT64_MAX;
  const PlatformHooks* platform_ = nullptr;
  uint64_t deadline_ns_ = 0;
  IsSet is_cancelled_ = nullptr;
  const void* flag_ = nullptr;
  etb_status reason_ = ETB_OK;
};

}  // namespace etb::host
