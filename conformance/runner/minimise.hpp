// A smaller case that fails in the same way. Candidates run one after the other in one child; those of a crash or a hang, and what
// only a fresh process shows, in a child each.
#pragma once

#include <optional>

#include "conformance/runner/plan.hpp"
#include "conformance/runner/progress.hpp"
#include "conformance/runner/small_case.hpp"

namespace etb::conformance {

struct Minimised {
  std::optional<SmallCase> found;  // empty: nothing smaller fails
  bool has_ended = true;           // false: the plan's deadline came first
};
// `failure` is the outcome of plan.items[item], a case that fails alone.
Minimised minimise(const Plan& plan, uint32_t item, const Outcome& failure);

// In this process. Nothing when the case does not fail so here.
std::optional<SmallCase> minimise_here(Subject& subject, const Item& item, const Outcome& failure,
                                       const PrecisionContract& contract, Progress& progress);

}  // namespace etb::conformance
