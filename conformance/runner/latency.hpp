// How long the plugin takes by nature, by the clock of a process that does not hold it: a correct device may be slow. Deadlines of checks
// grow with it, and checks that repeat runs repeat them less often.
#pragma once

#include <cstdint>

namespace etb::conformance {

struct Plan;

struct Latency {
  double open_ms = 0;  // to load and initialise it
  double run_ms = 0;   // of one run of a small case
};

// Opens the plugin in a process of its own and runs a small case that it claims. What does not work there has a latency of 0; the checks
// find it again.
Latency measure_latency(const Plan& plan);

// The time of a check or case that has `base_ms` with a fast plugin.
uint64_t scaled_ms(const Latency& latency, uint64_t base_ms);

}  // namespace etb::conformance
