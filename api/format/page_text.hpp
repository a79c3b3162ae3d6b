// Text of a file as it may stand in an HTML page.
#pragma once

#include <string>
#include <string_view>

#include "api/format/printable_text.hpp"

namespace etb::format {

// Line ends and tabs stay; other control characters and bytes that are no UTF-8 have no place in a page and are escaped.
inline std::string escape_page_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text[0];
    size_t nbytes = c == '\n' || c == '\t' ? 1 : printable_front_nbytes(text);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (nbytes != 0) {
      out.append(text.substr(0, nbytes));
    } else {
      char escaped[4];
      out.append(escaped, escape_byte(c, escaped));
      nbytes = 1;
    }
    text.remove_prefix(nbytes);
  }
  return out;
}

}  // namespace etb::format
