// SPDX-License-Identifier: Apache-2.0
#include "tools/run/limit_options.hpp"

namespace etb::tools {

void add_limit_options(CLI::App& command, LimitOptions& options) {
  command
      .add_option("--timeout-ms", options.timeout_ms,
                  "Stop a run after this time and report an error; 0: no limit")
      ->capture_default_str();
  command
      .add_option("--max-memory", options.limits.max_memory_bytes,
                  "Reject a program that needs more memory, such as 512MiB or 8GiB (default: 16 GiB, or "
                  "the memory of the machine if less)")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  command
      .add_option("--max-instructions", options.limits.max_run_instructions,
                  "Stop a run that executes more instructions in loops")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace etb::tools
