// SPDX-License-Identifier: Apache-2.0
// Examines all failures of a run, over several processes and for a limited time: one of each kind first, then
// the next of each.
#pragma once

#include <atomic>
#include <functional>

#include "conformance/runner/confirm.hpp"

namespace etb::conformance {

// `on_refined` receives each examined failure with the results. Failures not examined before plan.minimise_ms
// or `stop` stay unchanged. Results do not depend on the number of workers.
void refine(const Plan& plan, std::vector<Failure> failures,
            const std::function<void(const Outcome&)>& on_refined, const std::atomic<bool>& stop);

}  // namespace etb::conformance
