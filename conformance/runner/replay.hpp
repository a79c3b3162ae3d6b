// Items run again in a child of their own: by what looks closer at failures.
#pragma once

#include <string>
#include <vector>

#include "conformance/runner/child.hpp"

namespace etb::conformance {

// What a batch's end is called: unloading comes behind its last case.
std::string end_of(const std::string& last_item);

// Of the next item of a child that could not judge, or of the end of its batch.
Outcome outcome_of_failed_judge(const Plan& plan, const Child& child);

// Outcomes in order, a death last. `items` are numbers of plan.items.
std::vector<Outcome> replay(const Plan& plan, const std::vector<uint32_t>& items);

const Outcome* find_outcome(const std::vector<Outcome>& outcomes, const std::string& name);

// Both died, or both did not pass without dying.
bool fail_alike(const Outcome& failure, const Outcome* other);

}  // namespace etb::conformance
