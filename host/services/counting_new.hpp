// SPDX-License-Identifier: Apache-2.0
// For tests that a function does not use the heap: link counting_new.cpp, compare
// new_count() before and after.
#pragma once

#include <cstdint>

namespace etb::host {

// Number of calls of operator new in this program, on any thread.
uint64_t new_count() noexcept;

}  // namespace etb::host
