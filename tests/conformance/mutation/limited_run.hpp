// SPDX-License-Identifier: Apache-2.0
// Runs a program that may crash, hang, start processes or fill memory, and leaves none of its processes behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etb::mutation {

struct RunLimits {
  uint32_t seconds = 600;      // on the clock
  uint32_t cpu_seconds = 120;  // of one process
  uint64_t memory_bytes = uint64_t{4} << 30;
  std::string folder;  // TMPDIR and the file of its output; "" : the output is discarded
};

struct RunResult {
  int exit = -1;  // -1: a signal ended it
  int signal = 0;
  bool timed_out = false;
  std::string output;  // at most the last 16 KiB of stdout and stderr

  bool is_ok() const { return exit == 0; }
  std::string end() const;  // "exit code 1", "signal 11", "ran out of time"
};

// Processes that leave their group are found too: this process becomes their parent (PR_SET_CHILD_SUBREAPER).
RunResult run_limited(const std::vector<std::string>& words, const RunLimits& limits);

}  // namespace etb::mutation
