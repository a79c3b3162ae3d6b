// SPDX-License-Identifier: Apache-2.0
// Reads tokens from the front of a text. Errors name the line.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "etb/cpp/result.hpp"

namespace etb::ir {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : all_(text), rest_(text) {}

  // Skips blanks, and text from # to the end of a line.
  void skip_blank();
  bool is_at_end();
  bool peek(std::string_view token);
  bool take(std::string_view token);
  Status expect(std::string_view token);
  // Reads a run of letters, digits, '_' and '.'.
  std::string_view word();
  std::string_view peek_word();
  bool take_word(std::string_view wanted);
  // Reads the rest of the line.
  std::string_view line();
  Result<std::string> text();
  template <class T>
  Result<T> number() {
    skip_blank();
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return fail("expected a number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  std::string_view& rest() { return rest_; }

  size_t line_number() const;
  tl::unexpected<Error> fail(std::string message) const;

 private:
  std::string_view all_;
  std::string_view rest_;
};

}  // namespace etb::ir
