// Runs a plan in child processes: batches of cases, one child a check; a death costs one item.
#pragma once

#include <atomic>
#include <functional>

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

struct RunTotals {
  size_t child_count = 0;
  size_t replay_count = 0;  // children that confirmed and shrank failures
};

// `on_outcome` gets each outcome as it happens. Which outcome an item has does not depend on the number of workers: batches are cut by the
// plan alone. When `stop` becomes true the rest is kNotRun.
[[nodiscard]] Result<RunTotals> run_plan(const Plan& plan,
                                         const std::function<void(const Outcome&)>& on_outcome,
                                         const std::atomic<bool>& stop);

}  // namespace etb::conformance
