// SPDX-License-Identifier: Apache-2.0
// Collects all errors of an archive, so that one message lists every offender.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::pt2 {

class Diagnostics {
 public:
  void add(Code code, std::string message) {
    if (count_++ == 0) code_ = code;
    if (lines_.size() < kMaxLines) lines_.push_back(std::move(message));
  }
  // True if further reading would only repeat errors: in a hostile archive, each error can cost as much as
  // all of its bytes.
  bool is_full() const { return count_ >= kMaxDiagnostics; }
  void add(Error error) { add(error.code, std::move(error.message)); }
  bool is_empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  // Returns success, or the first error's code with one line per error.
  Status status() const {
    if (is_empty()) return {};
    std::string message;
    for (const std::string& line : lines_) message += (message.empty() ? "" : "\n") + line;
    if (count_ > lines_.size()) {
      message += "\nand " + std::string(is_full() ? "at least " : "") +
                 std::to_string(count_ - lines_.size()) + " more";
    }
    return make_error(code_, std::move(message));
  }

 private:
  static constexpr size_t kMaxLines = 100;
  static constexpr size_t kMaxDiagnostics = 1000;
  Code code_ = Code::INVALID_DATA;
  size_t count_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace etb::pt2
