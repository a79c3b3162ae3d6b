// RunLimits: when a run has to stop although the program would go on.
#pragma once

#include <atomic>
#include <cstdint>

namespace etb::host {

struct RunLimits {
  uint64_t max_instructions = 0;  // 0: no limit. A hostile program can loop for ever
  uint64_t deadline_ns = 0;       // on the platform's clock; 0: none. Checked between instructions
  const std::atomic<bool>* cancel = nullptr;  // set it from any thread to stop the run
};

}  // namespace etb::host
