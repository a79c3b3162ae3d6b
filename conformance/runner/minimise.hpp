// A smaller case that fails in the same way. Candidates run one after the other in one child; those of a crash or a hang, and what
// only a fresh process shows, in a child each.
#pragma once

#include <functional>
#include <optional>

#include "conformance/runner/plan.hpp"
#include "conformance/runner/small_case.hpp"

namespace etb::conformance {

struct Minimised {
  std::optional<SmallCase> found;  // empty: nothing smaller fails
  bool has_ended = true;           // false: the plan's deadline came first
};
// `failure` is the outcome of plan.items[item], a case that fails alone.
Minimised minimise(const Plan& plan, uint32_t item, const Outcome& failure);

// The same with candidates that `try_one` runs: it gives the outcome of a candidate, or nothing when no more can be tried. Nothing when the case
// does not fail so there.
using TryOne = std::function<std::optional<Outcome>(const BuiltCase& candidate)>;
std::optional<SmallCase> minimise_by(const BuiltCase& built, const Outcome& failure, const TryOne& try_one);

}  // namespace etb::conformance
