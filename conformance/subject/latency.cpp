// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/latency.hpp"

#include <algorithm>

namespace etb::conformance {

uint64_t scaled_ms(const Latency& latency, uint64_t base_ms) {
  // The most repetitive checks open the plugin 300 times and run a slow one 4,000 times, on several threads.
  constexpr double kOpens = 300, kRuns = 4000;
  constexpr uint64_t kMostTimes = 20;
  // Below these the base is long enough.
  constexpr double kFastOpenMs = 50, kFastRunMs = 2;
  const double more = kOpens * std::max(0.0, latency.open_ms - kFastOpenMs) +
                      kRuns * std::max(0.0, latency.run_ms - kFastRunMs);
  return std::min(base_ms + static_cast<uint64_t>(more), base_ms * kMostTimes);
}

}  // namespace etb::conformance
