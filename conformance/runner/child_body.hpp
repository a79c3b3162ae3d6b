// Running items without isolation, and what processes of a run share.
#pragma once

#include <vector>

#include "conformance/runner/plan.hpp"

namespace etb::conformance {

// Runs the items in this process, without any isolation: for a debugger.
std::vector<Outcome> run_in_process(const Plan& plan, const std::vector<uint32_t>& items);

// To a pipe.
void write_all(int fd, const std::string& text);

uint64_t monotonic_ns();

}  // namespace etb::conformance
