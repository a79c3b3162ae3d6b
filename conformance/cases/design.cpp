// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/design.hpp"

#include <array>
#include <cstdio>

namespace etb::conformance {

std::string number_text(int64_t number) {
  std::string text = std::to_string(number);
  if (number < 0) text[0] = 'm';
  return text;
}

std::string number_text(const Numbers& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : "x") + number_text(number);
  return text.empty() ? "none" : text;
}

std::string real_text(double number) {
  std::array<char, 40> printed{};
  std::snprintf(printed.data(), printed.size(), "%g", number);
  std::string text;
  for (const char c : std::string_view(printed.data())) {
    if (c == '+') continue;
    text += c == '.' ? 'p' : c == '-' ? 'm' : c;
  }
  return text;
}

}  // namespace etb::conformance
