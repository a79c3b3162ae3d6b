// The process that judges some items of a plan. No code of the plugin runs in it: it starts the process that holds the plugin, sends it one
// item after the other, keeps the time, and makes outcomes of the answers.
#pragma once

#include <vector>

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

// Runs the items and writes one line of JSON each to `fd`; after the last one, or the first at which the plugin's process ended, a line with the
// text "end". Then only the items with a line were run.
void run_judge(const Plan& plan, const std::vector<uint32_t>& items, int fd);

}  // namespace etb::conformance
