// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/latency.hpp"

#include <algorithm>

namespace etb::conformance {

uint32_t batches_at_once(const Latency& latency) {
  constexpr double kMost = 5;
  if (latency.open_ms <= kFastOpenMs && !is_slow(latency)) return 1;
  return static_cast<uint32_t>(std::clamp(0.5 / std::max(latency.busy, 1e-3), 1.0, kMost));
}

uint64_t scaled_ms(const Latency& latency, uint64_t base_ms) {
  // The most repetitive checks open the plugin 300 times and run a slow one 4,000 times, on several threads.
  constexpr double kOpens = 300, kRuns = 4000;
  constexpr uint64_t kMostTimes = 20;
  const double more = kOpens * std::max(0.0, latency.open_ms - kFastOpenMs) +
                      kRuns * std::max(0.0, latency.run_ms - kFastRunMs);
  return std::min(base_ms + static_cast<uint64_t>(more), base_ms * kMostTimes);
}

}  // namespace etb::conformance
