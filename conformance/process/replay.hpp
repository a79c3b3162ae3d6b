// SPDX-License-Identifier: Apache-2.0
// Repeats items in a new child, to examine failures.
#pragma once

#include <string>
#include <vector>

#include "conformance/process/child.hpp"

namespace etb::conformance {

// Returns the name of a batch's end: unloading comes after its last case.
std::string end_of(const std::string& last_item);

// Returns the outcome of the next item of a child that could not judge, or of the end of its batch.
Outcome outcome_of_failed_judge(const Plan& plan, const Child& child);

// Returns outcomes in order, a death last. `items` are indices into plan.items.
std::vector<Outcome> replay(const Plan& plan, const std::vector<uint32_t>& items);

const Outcome* find_outcome(const std::vector<Outcome>& outcomes, const std::string& name);

// True if both died, or both failed without dying.
bool fail_alike(const Outcome& failure, const Outcome* other);

}  // namespace etb::conformance
