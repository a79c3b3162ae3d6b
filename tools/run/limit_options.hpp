// SPDX-License-Identifier: Apache-2.0
// Bounds of runs for a program that is not trusted (time, memory, instructions), and their priority.
#pragma once


#include "host/runtime/load_limits.hpp"
#include "tools/cli11_fwd.hpp"

namespace etb::tools {

struct LimitOptions {
  uint64_t timeout_ms = 0;  // of one run; 0: none
  uint32_t priority = 500;  // for plugins: 0 (background) to 1000
  host::LoadLimits limits;
};

void add_limit_options(CLI::App& command, LimitOptions& options);

}  // namespace etb::tools
