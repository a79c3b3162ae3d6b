// Soak: the same items again and again with other random numbers, in other orders, as long as there is time.
#pragma once

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

// The items of round 0 are `items` themselves. Later rounds have each case under its name of that round, in an order of that round, and of the
// checks those that chance or time decides.
std::vector<Item> soak_round(const std::vector<Item>& items, uint32_t round);

// "90", "90s", "10m", "2h", as seconds.
[[nodiscard]] Result<uint32_t> parse_duration(const std::string& text);

}  // namespace etb::conformance
