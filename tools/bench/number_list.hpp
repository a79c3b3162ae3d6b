// SPDX-License-Identifier: Apache-2.0
// Numbers of a sweep: "4", and ranges "1-4", "2-8+2" and "1-8*2".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::bench {

// Bounds of a number, and what the bounds mean: "0: all processors".
struct NumberBounds {
  uint32_t lowest = 0, highest = 0;
  std::string note = {};
};

// Returns the numbers of one word: FIRST-LAST counts by 1, FIRST-LAST+STEP adds, FIRST-LAST*FACTOR multiplies.
// Errors: anything else, a number out of bounds, a range without progress or with more than 1,024 numbers.
[[nodiscard]] Result<std::vector<uint32_t>> parse_numbers(const std::string& word,
                                                          const NumberBounds& bounds);

}  // namespace etb::bench
