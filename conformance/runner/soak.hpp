// SPDX-License-Identifier: Apache-2.0
// Soak: repeats the items with other random numbers, in other orders, until the time is over.
#pragma once

#include "conformance/process/plan.hpp"

namespace etb::conformance {

// Returns the items with the random numbers of a seed: names end in @SEED, as those of a round. 0: unchanged.
std::vector<Item> with_seed(std::vector<Item> items, uint32_t seed);

// Round 0 has `items` themselves. Later rounds have each case under its name of that round, in an order of
// that round. They include the checks that depend on chance or time.
std::vector<Item> soak_round(const std::vector<Item>& items, uint32_t round);

// Returns "90", "90s", "10m", "2h" as seconds.
[[nodiscard]] Result<uint32_t> parse_duration(const std::string& text);

}  // namespace etb::conformance
