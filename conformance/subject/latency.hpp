// SPDX-License-Identifier: Apache-2.0
// The plugin's own latency: a correct device may be slow. Deadlines of checks grow with it, and checks repeat
// runs less often.
#pragma once

#include <cstdint>

namespace etb::conformance {

struct Latency {
  double open_ms = 0;  // time to load and initialise it
  double run_ms = 0;   // one run of a small case
  double busy = 1;     // part of the time of these in which a processor worked; the rest is waiting
};

// Below these a plugin is fast: the repetitions and limits of all checks suit it.
inline constexpr double kFastOpenMs = 50, kFastRunMs = 2;
inline bool is_slow(const Latency& latency) { return latency.run_ms > kFastRunMs; }

// Returns how many times as many batches may run at once: a plugin that waits for its device leaves the processors
// idle.
uint32_t batches_at_once(const Latency& latency);

// Returns the time limit of a check or case that has `base_ms` with a fast plugin.
uint64_t scaled_ms(const Latency& latency, uint64_t base_ms);

}  // namespace etb::conformance
