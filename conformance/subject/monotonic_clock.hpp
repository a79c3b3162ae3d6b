// SPDX-License-Identifier: Apache-2.0
// The clock of deadlines and durations.
#pragma once

#include <time.h>

#include <cstdint>

namespace etb::conformance {

inline uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace etb::conformance
