// SPDX-License-Identifier: Apache-2.0
#include "host/runtime/stop_check.hpp"

namespace etb::host {

StopCheck::StopCheck(const RunLimits& limits, const PlatformHooks& platform) noexcept {
  if (limits.deadline_ns == 0 && limits.cancel == nullptr) return;
  left_ = kPeriod;
  platform_ = &platform;
  deadline_ns_ = limits.deadline_ns;
  if (limits.cancel == nullptr) return;
  flag_ = limits.cancel;
  is_cancelled_ = [](const void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
  };
}

StopCheck::StopCheck(uint64_t deadline_ns, const etb_cancel_token* token,
                     const PlatformHooks& platform) noexcept {
  if (deadline_ns == 0 && token == nullptr) return;
  left_ = kPeriod;
  platform_ = &platform;
  deadline_ns_ = deadline_ns;
  if (token == nullptr) return;
  flag_ = token;
  is_cancelled_ = [](const void* flag) {
    const auto& given = *static_cast<const etb_cancel_token*>(flag);
    return given.is_cancelled(given.ctx) != 0;
  };
}

bool StopCheck::look() noexcept {
  if (platform_ == nullptr) {
    left_ = INT64_MAX;
    return false;
  }
  if (reason_ == ETB_OK) {
    if (is_cancelled_ != nullptr && is_cancelled_(flag_)) {
      reason_ = ETB_CANCELLED;
    } else if (deadline_ns_ != 0 && platform_->now_ns(platform_->self) >= deadline_ns_) {
      reason_ = ETB_DEADLINE_EXCEEDED;
    }
  }
  left_ = reason_ == ETB_OK ? kPeriod : 0;
  return reason_ != ETB_OK;
}

}  // namespace etb::host
