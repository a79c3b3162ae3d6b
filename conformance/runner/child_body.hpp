// What a child process does.
#pragma once

#include <vector>

#include "conformance/runner/plan.hpp"
#include "conformance/runner/progress.hpp"

namespace etb::conformance {

// Runs the items and writes one line each to `fd`, then "end". The process is its own from here: streams, limits, signals.
void run_child(const Plan& plan, const std::vector<uint32_t>& items, int fd, int stacks_fd,
               ProgressPage* page);

// The same in this process, without any isolation: for a debugger.
std::vector<Outcome> run_in_process(const Plan& plan, const std::vector<uint32_t>& items);

// To a pipe.
void write_all(int fd, const std::string& text);

uint64_t monotonic_ns();

}  // namespace etb::conformance
