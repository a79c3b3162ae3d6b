// SPDX-License-Identifier: Apache-2.0
// Where a measured process runs: the processors of --cpus, the memory node of --numa-node, one processor for each
// thread.
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::bench {

// Parses "0,2-3".
[[nodiscard]] Result<cpu_set_t> parse_processors(const std::string& text);

// Restricts the calling thread, and all that it starts, to these processors.
[[nodiscard]] Status run_on(const std::string& processors);

// Restricts the calling thread, and all that it starts, to processors and memory of a NUMA node.
[[nodiscard]] Status run_on_node(uint32_t node);

// Gives each present thread of the process one processor of those that the process may use, in turn.
[[nodiscard]] Status pin_threads();

}  // namespace etb::bench
