// SPDX-License-Identifier: Apache-2.0
// Escapes text from files and plugins for output: the only escaping function for messages, terminals and
// logs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etb::format {

namespace detail {

// Decodes one code point at `at` and advances `at`. Returns 0xffffffff for invalid UTF-8
// (overlong, surrogate, too large).
constexpr uint32_t next_code_point(std::string_view text, size_t& at) noexcept {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  const int tail_count = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  if (lead < 0xc2 || lead > 0xf4) return 0xffffffff;
  uint32_t point = lead & (0x3fu >> tail_count);
  for (int i = 0; i < tail_count; ++i) {
    if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) return 0xffffffff;
    point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[tail_count] || (point >= 0xd800 && point <= 0xdfff)) return 0xffffffff;
  return point;
}

constexpr bool is_in(uint32_t point, uint32_t first, uint32_t last) noexcept {
  return point >= first && point <= last;
}

constexpr bool is_harmless(uint32_t point) noexcept {
  if (point < 0x20 || is_in(point, 0x7f, 0x9f)) return false;         // C0, DEL, C1
  if (point == 0x061c || is_in(point, 0x200e, 0x200f)) return false;  // bidirectional marks
  if (is_in(point, 0x2028, 0x202e) || is_in(point, 0x2066, 0x2069))
    return false;                                                     // line ends, overrides, isolates
  if (point == 0xfeff || is_in(point, 0xfff9, 0xfffb)) return false;  // byte order mark, annotations
  if (is_in(point, 0xe0000, 0xe007f)) return false;                   // tags, which are invisible
  return point <= 0x10ffff;
}

}  // namespace detail

// Bytes of the first character of `text` if it may be printed unchanged, 0 if its first byte must be escaped.
// `text` is not empty. Does not use the heap, so the runtime core can use it.
constexpr size_t printable_front_nbytes(std::string_view text) noexcept {
  size_t at = 0;
  return detail::is_harmless(detail::next_code_point(text, at)) ? at : 0;
}

// True if `text` is valid UTF-8 without control characters and without marks that reorder the displayed text.
constexpr bool is_printable(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t nbytes = printable_front_nbytes(text);
    if (nbytes == 0) return false;
    text.remove_prefix(nbytes);
  }
  return true;
}

// Writes "\x1b" for the byte 0x1b. Returns the 4 characters written.
constexpr size_t escape_byte(char byte, char (&out)[4]) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  out[0] = '\\';
  out[1] = 'x';
  out[2] = kDigits[value >> 4];
  out[3] = kDigits[value & 15];
  return 4;
}

// Returns at most about max_nbytes of the text, with everything that could control a terminal escaped as
// \x1b. Hostile text is printed, too.
inline std::string made_printable(std::string_view text, size_t max_nbytes = 4096) {
  std::string out;
  while (!text.empty() && out.size() < max_nbytes) {
    const size_t nbytes = printable_front_nbytes(text);
    if (nbytes != 0) {
      out.append(text.substr(0, nbytes));
      text.remove_prefix(nbytes);
      continue;
    }
    char escaped[4];
    out.append(escaped, escape_byte(text[0], escaped));
    text.remove_prefix(1);
  }
  return text.empty() ? out : out + "...";
}

// Like made_printable, in quotes and short, for values in messages.
inline std::string in_quotes(std::string_view text) {
  constexpr size_t kMaxNbytes = 64;
  // The quotes enclose only the text itself, so that "..." is recognised as a mark of this function.
  const std::string shown = made_printable(text, kMaxNbytes);
  const bool is_cut = shown.size() > kMaxNbytes && shown.compare(shown.size() - 3, 3, "...") == 0;
  return is_cut ? '\'' + shown.substr(0, shown.size() - 3) + "'..." : '\'' + shown + '\'';
}

}  // namespace etb::format
