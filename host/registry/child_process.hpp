// SPDX-License-Identifier: Apache-2.0
// Runs a function in a child process with a deadline. Returns a crash, a hang or an exit in it as a value.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::host {

enum class ChildEnd { kExited, kSignalled, kTimedOut };

struct ChildOutcome {
  ChildEnd end = ChildEnd::kExited;
  int value = 0;       // exit code or signal
  std::string output;  // bytes that the child wrote to its descriptor, at most 1 MiB
};

// "exited with code 3", "killed by signal 11 (Segmentation fault)", "no answer within 500 ms".
std::string to_text(const ChildOutcome& outcome, std::chrono::milliseconds deadline);

// Forks. Call it while this process has one thread, or let `body` use nothing that another thread may have
// locked. The child's standard streams are /dev/null. All processes that it started are killed with it.
[[nodiscard]] Result<ChildOutcome> run_in_child(const std::function<void(int fd)>& body,
                                                std::chrono::milliseconds deadline);

}  // namespace etb::host
