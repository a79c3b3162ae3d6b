// SPDX-License-Identifier: Apache-2.0
// The plugin's own latency: a correct device may be slow. Deadlines of checks grow with it, and checks repeat
// runs less often.
#pragma once

#include <cstdint>

namespace etb::conformance {

struct Latency {
  double open_ms = 0;  // time to load and initialise it
  double run_ms = 0;   // one run of a small case
};

// Returns the time limit of a check or case that has `base_ms` with a fast plugin.
uint64_t scaled_ms(const Latency& latency, uint64_t base_ms);

}  // namespace etb::conformance
