// SPDX-License-Identifier: Apache-2.0
// The list of processors of --cpus.
#pragma once

#include <sched.h>

#include <string>

#include "etb/cpp/result.hpp"

namespace etb::bench {

// Parses "0,2-3".
[[nodiscard]] Result<cpu_set_t> parse_processors(const std::string& text);

}  // namespace etb::bench
