// SPDX-License-Identifier: Apache-2.0
#include "host/services/clock.hpp"

#include <chrono>

namespace etb::host {

uint64_t now_ns() noexcept {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

const etb_clock_service* clock_service() noexcept {
  static constexpr etb_clock_service kService{sizeof(etb_clock_service), 0, nullptr,
                                              [](void*) -> uint64_t { return now_ns(); }};
  return &kService;
}

}  // namespace etb::host
