// SPDX-License-Identifier: Apache-2.0
// The process that judges some items of a plan. It runs no code of the plugin. It starts the plugin's
// process, sends it the items in turn, enforces time limits, and turns answers into outcomes.
#pragma once

#include <vector>

#include "conformance/process/plan.hpp"

namespace etb::conformance {

// Runs the items and writes one line of JSON each to `fd`. The last line is "end": after the last item, or
// after the first one that ended the plugin's process. Only items with a line were run.
void run_judge(const Plan& plan, const std::vector<uint32_t>& items, int fd);

}  // namespace etb::conformance
