// The plugin's own latency, measured by another process: a correct device may be slow. Deadlines of checks
// grow with it, and checks repeat runs less often.
#pragma once

#include <cstdint>

namespace etb::conformance {

struct Plan;

struct Latency {
  double open_ms = 0;  // to load and initialise it
  double run_ms = 0;   // one run of a small case
};

// Opens the plugin in a separate process and runs a small case that it claims. Steps that fail have latency
// 0; the checks report them.
Latency measure_latency(const Plan& plan);

// Returns the time limit of a check or case that has `base_ms` with a fast plugin.
uint64_t scaled_ms(const Latency& latency, uint64_t base_ms);

}  // namespace etb::conformance
