// SPDX-License-Identifier: Apache-2.0
// RunLimits: conditions that stop a run before the program ends, its priority and its number.
#pragma once

#include <atomic>
#include <cstdint>

namespace etb::host {

struct RunLimits {
  static constexpr uint64_t kNoInstructionLimit = UINT64_MAX;

  // 0: LoadLimits::max_run_instructions; kNoInstructionLimit: a loop may run for ever.
  uint64_t max_instructions = 0;
  // On the platform's clock; 0: none. Checked between instructions, inside the kernels' loops, and after a
  // delegate returns. A run that ends after its deadline fails.
  uint64_t deadline_ns = 0;
  // Set it from any thread to stop the run. Checked like the deadline.
  const std::atomic<bool>* cancel = nullptr;
  // For plugins that order the runs of a device: 0 (background) to 1000.
  uint32_t priority = 500;
  // Number of the run in logs and traces of plugins. 0: Module counts the runs of the process.
  uint64_t run_id = 0;
};

}  // namespace etb::host
