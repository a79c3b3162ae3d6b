// A closer look at all failures of a run, over several processes and for a limited time: one of each kind first, then the next of each.
#pragma once

#include <atomic>
#include <functional>

#include "conformance/runner/confirm.hpp"

namespace etb::conformance {

// `on_refined` gets each failure that was looked at, with what was found. What is not looked at before plan.minimise_ms are over, or `stop`
// is set, stays as it is. What is found does not depend on the number of workers.
void refine(const Plan& plan, std::vector<Failure> failures,
            const std::function<void(const Outcome&)>& on_refined, const std::atomic<bool>& stop);

}  // namespace etb::conformance
