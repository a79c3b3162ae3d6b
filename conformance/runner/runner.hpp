// SPDX-License-Identifier: Apache-2.0
// Runs a plan in child processes: batches of cases, and one child per check. A death costs one item.
#pragma once

#include <atomic>
#include <functional>

#include "conformance/process/plan.hpp"

namespace etb::conformance {

using OnOutcome = std::function<void(const Outcome&)>;

// `on_outcome` receives each outcome as it happens. Afterwards `on_refined` receives failures again with
// their smallest case or sequence. Outcomes do not depend on the number of workers: the plan alone defines
// the batches. When `stop` becomes true, the remaining items are kNotRun.
[[nodiscard]] Status run_plan(const Plan& plan, const OnOutcome& on_outcome, const OnOutcome& on_refined,
                              const std::atomic<bool>& stop);

}  // namespace etb::conformance
