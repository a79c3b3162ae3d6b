// SPDX-License-Identifier: Apache-2.0
// Escapes text of a file for an HTML page.
#pragma once

#include <string>
#include <string_view>

#include "api/format/printable_text.hpp"

namespace etb::format {

// Keeps line ends and tabs. Escapes other control characters and invalid UTF-8, which a page must not
// contain.
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
