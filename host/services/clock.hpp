// SPDX-License-Identifier: Apache-2.0
// clock/1: nanoseconds of the monotonic clock.
#pragma once

#include "etb/host.h"

namespace etb::host {

// Returns constant data: all hosts may use the same service.
const etb_clock_service* clock_service() noexcept;

uint64_t now_ns() noexcept;

}  // namespace etb::host
