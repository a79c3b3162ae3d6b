// SPDX-License-Identifier: Apache-2.0
// Attributes of the process and of the calling thread that a library leaves as they are: limits, priorities,
// affinity, timers, signals, streams, prctl settings, locale, environment, working directory, rounding.
#pragma once

#include <map>
#include <string>

namespace etb::conformance {

// Values by name: {"nice value", "0"}.
using ProcessAttributes = std::map<std::string, std::string>;

ProcessAttributes read_process_attributes();

// Returns "nice value: 0 before, 5 after; ...", of at most a few, or "".
std::string find_difference(const ProcessAttributes& before, const ProcessAttributes& after);

}  // namespace etb::conformance
