// SPDX-License-Identifier: Apache-2.0
#include "tools/run/limit_options.hpp"

#include <CLI/CLI.hpp>

#include "tools/option_values.hpp"

namespace etb::tools {

namespace {

constexpr uint64_t kMaxTimeoutMs = uint64_t{1000} * 3600 * 24 * 365;

}  // namespace

void add_limit_options(CLI::App& command, LimitOptions& options) {
  command
      .add_option("--timeout-ms", options.timeout_ms,
                  "Stop a run after this time and report an error; 0: no limit")
      ->check(whole_number(0, kMaxTimeoutMs))
      ->capture_default_str();
  command
      .add_option("--max-memory", options.limits.max_memory_bytes,
                  "Reject a program that needs more memory, such as 512MiB or 8GiB (default: 16 GiB, or "
                  "the memory of the machine if less)")
      ->transform(CLI::AsSizeValue(false))
      ->check(whole_number(1, UINT64_MAX))
      ->type_name("SIZE");
  command
      .add_option("--max-instructions", options.limits.max_run_instructions,
                  "Stop a run that executes more instructions in loops")
      ->check(whole_number(1, UINT64_MAX))
      ->capture_default_str();
}

}  // namespace etb::tools
