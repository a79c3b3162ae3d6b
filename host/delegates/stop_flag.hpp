// SPDX-License-Identifier: Apache-2.0
// StopFlag: reports to a plugin whether its run has to stop.
#pragma once

#include "etb/delegate.h"
#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/run_limits.hpp"

namespace etb::host {

inline bool has_end(const RunLimits& limits) noexcept {
  return limits.cancel != nullptr || limits.deadline_ns != 0;
}

struct StopFlag {
  const RunLimits& limits;
  const PlatformHooks& platform;

  // Borrows this object.
  etb_cancel_token token() noexcept { return {ETB_INIT_SIZE(etb_cancel_token), 0, this, &is_set}; }

 private:
  static uint32_t ETB_CALL is_set(void* ctx) {
    const auto& self = *static_cast<const StopFlag*>(ctx);
    if (self.limits.cancel != nullptr && self.limits.cancel->load(std::memory_order_relaxed)) return 1;
    const uint64_t deadline = self.limits.deadline_ns;
    return deadline != 0 && self.platform.now_ns(self.platform.self) >= deadline ? 1 : 0;
  }
};

}  // namespace etb::host
