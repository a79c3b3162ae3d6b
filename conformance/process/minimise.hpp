// SPDX-License-Identifier: Apache-2.0
// Searches a smaller case that fails in the same way. Candidates run in one child in turn. Crashes, hangs,
// and failures that need a fresh process use one child each.
#pragma once

#include <functional>
#include <optional>

#include "conformance/outcome/small_case.hpp"
#include "conformance/process/plan.hpp"

namespace etb::conformance {

struct Minimised {
  std::optional<SmallCase> found;  // empty: no smaller case fails
  bool has_ended = true;           // false: the plan's deadline came first
};
// `failure` is the outcome of plan.items[item], a case that fails alone.
Minimised minimise(const Plan& plan, uint32_t item, const Outcome& failure);

// As minimise(), with `try_one` to run candidates: it returns a candidate's outcome, or nothing to stop the
// search. Returns nothing if the case itself does not fail the same way.
using TryOne = std::function<std::optional<Outcome>(const BuiltCase& candidate)>;
std::optional<SmallCase> minimise_by(const BuiltCase& built, const Outcome& failure, const TryOne& try_one);

}  // namespace etb::conformance
