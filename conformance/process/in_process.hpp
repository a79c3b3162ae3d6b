// SPDX-License-Identifier: Apache-2.0
// Runs items without isolation, and helpers shared by the processes of a run.
#pragma once

#include <vector>

#include "conformance/process/plan.hpp"

namespace etb::conformance {

// Runs the items in this process, without isolation: for a debugger.
std::vector<Outcome> run_in_process(const Plan& plan, const std::vector<uint32_t>& items);

// Writes to a pipe.
void write_all(int fd, const std::string& text);

}  // namespace etb::conformance
