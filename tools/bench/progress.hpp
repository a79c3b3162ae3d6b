// SPDX-License-Identifier: Apache-2.0
// A line on the terminal with the state of the benchmark and the time that remains.
#pragma once

#include <chrono>
#include <string>

namespace etb::bench {

class Progress {
 public:
  // Prints only if standard error is a terminal and this is the program, not a test.
  Progress();
  ~Progress();  // erases the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text);
  // Shows "measuring 3 of 20, about 12 s left"; `limit_seconds` 0: none.
  void show_round(uint32_t round, uint32_t rounds, double elapsed_seconds, double limit_seconds);

 private:
  bool is_shown_;
  bool has_line_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace etb::bench
