// SPDX-License-Identifier: Apache-2.0
// For tests: draws the output of a command as a terminal shows it, as an SVG for the documentation.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

namespace etb::tools {

namespace detail {

inline std::string escaped_for_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

// The attributes of a style of tools/screen.cpp, by its escape sequence.
inline const char* attributes_of(std::string_view sequence) {
  if (sequence == "1") return "font-weight=\"bold\" fill=\"#fff\"";
  if (sequence == "1;31") return "font-weight=\"bold\" fill=\"#f66\"";
  if (sequence == "32") return "fill=\"#7c7\"";
  return "";
}

// One line: its styled parts become elements, which end at the next sequence.
inline std::string to_spans(std::string_view line) {
  std::string out;
  bool is_open = false;
  while (!line.empty()) {
    const size_t at = std::min(line.find("\x1b["), line.size());
    out += escaped_for_xml(line.substr(0, at));
    line.remove_prefix(at);
    if (line.empty()) break;
    const size_t end = std::min(line.find('m'), line.size() - 1);
    const std::string attributes = attributes_of(line.substr(2, end - 2));
    if (is_open) out += "</tspan>";
    is_open = !attributes.empty();
    if (is_open) out += "<tspan " + attributes + ">";
    line.remove_prefix(end + 1);
  }
  return out + (is_open ? "</tspan>" : "");
}

inline size_t columns_of(std::string_view line) {
  size_t count = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b')
      i = std::min(line.find('m', i), line.size() - 1);
    else
      ++count;
  }
  return count;
}

}  // namespace detail

// `text` may have the styles of the program. The picture is as wide as its longest line.
inline std::string terminal_picture(const std::string& text) {
  constexpr double kColumnWidth = 7.83;  // of a monospace font of 13 pixels
  constexpr size_t kLineHeight = 18, kMargin = 14;
  std::string body;
  size_t columns = 0, y = kMargin + 12;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); y += kLineHeight) {
    columns = std::max(columns, detail::columns_of(line));
    body += "<text x=\"" + std::to_string(kMargin) + "\" y=\"" + std::to_string(y) +
            "\" xml:space=\"preserve\">" + detail::to_spans(line) + "</text>\n";
  }
  const auto width = static_cast<size_t>(static_cast<double>(columns) * kColumnWidth) + 2 * kMargin;
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) + "\" height=\"" +
         std::to_string(y - 4) +
         "\" font-family=\"monospace\" font-size=\"13\" fill=\"#ddd\">\n"
         "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#1c1c1c\"/>\n" +
         body + "</svg>\n";
}

}  // namespace etb::tools
