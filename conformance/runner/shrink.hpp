// The shortest sequence of earlier items after which a case fails (delta debugging over the prefix of its batch).
#pragma once

#include <atomic>

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

struct Shrunk {
  bool fails_alone = false;
  bool fails_again = false;        // after its whole prefix
  std::vector<uint32_t> sequence;  // what must run before it
  size_t replay_count = 0;
};
Shrunk shrink(const Plan& plan, const std::vector<uint32_t>& prefix, uint32_t item, State state,
              const std::atomic<bool>& stop);

}  // namespace etb::conformance
