// SPDX-License-Identifier: Apache-2.0
// ProcessState: process state that a call must not change (ABI-HYG-01, ABI-HYG-02).
#pragma once

#include <signal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etb::host::validate {

class ProcessState {
 public:
  // Reads the floating-point control and signal mask of this thread. With `whole_process` also signal
  // handlers, locale, working directory, environment and the number of threads.
  explicit ProcessState(bool whole_process);

  // Returns the first change: "the floating-point control word: 0x1f80 before, 0x9f80 after".
  std::optional<std::string> find_change() const;

  // Number of additional threads since the constructor. 0 without `whole_process`.
  int added_thread_count() const;

 private:
  const bool whole_process_;
  uint64_t float_control_;
  sigset_t signal_mask_;
  uint64_t signal_handlers_ = 0;
  std::vector<std::string> environment_;
  std::string locale_;
  std::string directory_;
  int thread_count_ = 0;
};

}  // namespace etb::host::validate
