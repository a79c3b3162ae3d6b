// SPDX-License-Identifier: Apache-2.0
// The options that bound a program that is not trusted: time, memory, instructions.
#pragma once

#include <CLI/CLI.hpp>

#include "host/runtime/load_limits.hpp"

namespace etb::tools {

struct LimitOptions {
  uint64_t timeout_ms = 0;  // of one run; 0: none
  host::LoadLimits limits;
};

void add_limit_options(CLI::App& command, LimitOptions& options);

}  // namespace etb::tools
