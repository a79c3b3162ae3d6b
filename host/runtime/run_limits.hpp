// RunLimits: when a run has to stop although the program would go on.
#pragma once

#include <atomic>
#include <cstdint>

namespace etb::host {

struct RunLimits {
  static constexpr uint64_t kNoInstructionLimit = UINT64_MAX;

  uint64_t max_instructions =
      0;  // 0: LoadLimits::max_run_instructions; kNoInstructionLimit: a loop may run for ever
  // On the platform's clock; 0: none. Looked at between instructions, inside the kernels' loops, and when a delegate has returned: a run
  // that ends after its deadline fails.
  uint64_t deadline_ns = 0;
  const std::atomic<bool>* cancel =
      nullptr;  // set it from any thread to stop the run; looked at in the same places
};

}  // namespace etb::host
