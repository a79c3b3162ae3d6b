// SPDX-License-Identifier: Apache-2.0
// A line on the terminal with the state of long work. It is erased at the end.
#pragma once

#include <chrono>
#include <string>

namespace etb::tools {

class Progress {
 public:
  // Prints only if standard error is a terminal and this is the program, not a test, unless --quiet is given.
  explicit Progress(bool is_quiet);
  ~Progress();  // erases the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Replaces the line.
  void show(const std::string& text);
  // The same for lines that change often: prints at most five of them a second.
  void show_often(const std::string& text);
  // Erases the line, so that other output can follow.
  void erase();

 private:
  bool is_shown_;
  bool has_line_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace etb::tools
