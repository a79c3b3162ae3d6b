// A closer look at one failure: does it fail alone, after what, how small can it be, or was it chance?
#pragma once

#include <memory>
#include <vector>

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

struct Failure {
  Outcome outcome;
  std::shared_ptr<const std::vector<uint32_t>> batch;  // what its child ran
  size_t position = 0;                                 // of the item in the batch; its size: the batch's end
};

// What brought earlier failures about. Tried first, so that many failures of one cause are not searched for each.
using KnownSequences = std::vector<std::vector<uint32_t>>;

// Adds `smallest`, `small` or `sequence`, or makes it flaky. False when the plan's deadline came first; then nothing is added.
bool confirm(const Plan& plan, Failure& failure, KnownSequences& known);

}  // namespace etb::conformance
