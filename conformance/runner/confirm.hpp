// SPDX-License-Identifier: Apache-2.0
// Examines one failure: does it occur alone, after which items, how small can it be, is it flaky?
#pragma once

#include <memory>
#include <vector>

#include "conformance/process/plan.hpp"

namespace etb::conformance {

struct Failure {
  Outcome outcome;
  std::shared_ptr<const std::vector<uint32_t>> batch;  // items of its child
  size_t position = 0;                                 // index of the item in the batch; batch size: the
                                                       // batch's end
};

// Sequences that caused earlier failures. Tried first, so that failures of one cause share one search.
using KnownSequences = std::vector<std::vector<uint32_t>>;

// Adds `smallest`, `small` or `sequence`, or marks it flaky. Returns false and adds nothing if the plan's
// deadline came first.
bool confirm(const Plan& plan, Failure& failure, KnownSequences& known);

}  // namespace etb::conformance
