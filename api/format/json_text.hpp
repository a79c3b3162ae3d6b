// SPDX-License-Identifier: Apache-2.0
// Finds faults in a JSON text that a parser ignores.
#pragma once

#include <string_view>

namespace etb::format {

// Names the byte order mark at the start of `text`. Returns nullptr when there is none.
constexpr const char* find_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view kUtf32Big("\0\0\xfe\xff", 4);
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    return "found a byte order mark (EF BB BF), expected text in UTF-8 without one";
  if (text.substr(0, 2) == "\xff\xfe" || text.substr(0, 2) == "\xfe\xff" || text.substr(0, 4) == kUtf32Big)
    return "found a byte order mark of UTF-16 or UTF-32, expected text in UTF-8 without one";
  return nullptr;
}

// Describes the first fault that nlohmann's parser does not report, or returns nullptr. The parser skips a
// byte order mark, and a NUL ends the text for it.
constexpr const char* find_silent_json_fault(std::string_view text) noexcept {
  if (const char* mark = find_byte_order_mark(text)) return mark;
  if (text.find('\0') != std::string_view::npos) return "found a NUL byte, expected JSON text without one";
  return nullptr;
}

}  // namespace etb::format
