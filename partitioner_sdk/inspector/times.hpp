// SPDX-License-Identifier: Apache-2.0
// Units of recorded times, and statistics over runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace etb::inspector {

enum class TimeScale : uint8_t { kNs, kUs, kMs, kS, kCycles };

const char* to_text(TimeScale scale);  // "ns"
std::optional<TimeScale> find_time_scale(std::string_view text);

// Returns how many of `source` are one of `target`: 1e6 from ns to ms. Cycles have no length in seconds, so both or none
// must be cycles.
double scale_factor(TimeScale source, TimeScale target);

// Returns the value below which `fraction` of the samples are, interpolated as NumPy does; 0 without samples.
double quantile(std::vector<double> samples, double fraction);
double mean(std::span<const double> samples);

}  // namespace etb::inspector
