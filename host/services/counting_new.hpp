// For tests that a function takes nothing from the heap: link counting_new.cpp, compare new_count() before and after.
#pragma once

#include <cstdint>

namespace etb::host {

// How often operator new was called in this program, on any thread.
uint64_t new_count() noexcept;

}  // namespace etb::host
