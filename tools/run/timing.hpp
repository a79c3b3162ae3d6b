// SPDX-License-Identifier: Apache-2.0
// Times that `etbackend run` measures, and its time limit.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "host/runtime/platform_hooks.hpp"
#include "host/runtime/run_limits.hpp"
#include "tools/run/limit_options.hpp"

namespace etb::tools {

class Stopwatch {
 public:
  double us() const { return std::chrono::duration<double, std::micro>(Clock::now() - begin_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

// Returns the limits of a run that begins now.
inline host::RunLimits limits_from_now(const LimitOptions& options) {
  host::RunLimits limits;
  const auto& platform = host::kDefaultPlatformHooks;
  if (options.timeout_ms != 0)
    limits.deadline_ns = platform.now_ns(platform.self) + options.timeout_ms * 1000000;
  limits.priority = options.priority;
  return limits;
}

// Returns the value below which `fraction` of the samples are; 0 without samples.
inline double percentile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  const auto at = static_cast<ptrdiff_t>(fraction * static_cast<double>(samples.size() - 1) + 0.5);
  std::nth_element(samples.begin(), samples.begin() + at, samples.end());
  return samples[static_cast<size_t>(at)];
}

// Peak of this program only: getrusage would include its parent's peak before exec.
inline int64_t peak_rss_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  }
  return 0;
}

}  // namespace etb::tools
