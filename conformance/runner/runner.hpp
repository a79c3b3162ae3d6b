// Runs a plan in child processes: batches of cases, one child a check; a death costs one item.
#pragma once

#include <atomic>
#include <functional>

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

using OnOutcome = std::function<void(const Outcome&)>;

// `on_outcome` gets each outcome as it happens; afterwards `on_refined` gets failures again, with what a closer look found: how small they can
// be, after what they happen. Which outcome an item has does not depend on the number of workers: batches are cut by the plan alone. When `stop`
// becomes true the rest is kNotRun.
[[nodiscard]] Status run_plan(const Plan& plan, const OnOutcome& on_outcome, const OnOutcome& on_refined,
                              const std::atomic<bool>& stop);

}  // namespace etb::conformance
