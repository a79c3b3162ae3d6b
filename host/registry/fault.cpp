#include "host/registry/fault.hpp"

#include <cstdint>
#include <cstdio>

namespace etb::host {
namespace {

constexpr size_t kQuotedMaxBytes = 64;

// Decodes one code point at `at` and moves past it; 0xffffffff when the bytes are not UTF-8 (overlong, surrogate, too large).
uint32_t next_code_point(std::string_view text, size_t& at) {
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
  if (point < kSmallest[tail_count] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
    return 0xffffffff;
  return point;
}

bool is_harmless(uint32_t point) {
  if (point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;  // C0, DEL, C1
  if (point == 0x2028 || point == 0x2029 || point == 0xfeff) return false;
  if (point >= 0x202a && point <= 0x202e) return false;  // bidirectional overrides
  if (point >= 0x2066 && point <= 0x2069) return false;  // bidirectional isolates
  return point <= 0x10ffff;
}

}  // namespace

std::string to_text(const Fault& fault) { return fault.path + ": " + fault.message; }

std::string to_text(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) text += (text.empty() ? "" : "; ") + to_text(fault);
  return text;
}

std::string made_printable(std::string_view text, size_t max_nbytes) {
  std::string out;
  size_t at = 0;
  while (at < text.size() && out.size() < max_nbytes) {
    const size_t begin = at;
    if (is_harmless(next_code_point(text, at))) {
      out.append(text.substr(begin, at - begin));
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(text[begin]));
    out += escaped;
    at = begin + 1;
  }
  return at < text.size() ? out + "..." : out;
}

std::string in_quotes(std::string_view text) {
  // The quotes stay around what is there, so that "..." is seen to be ours.
  const std::string shown = made_printable(text, kQuotedMaxBytes);
  const bool is_cut = shown.size() > kQuotedMaxBytes && shown.compare(shown.size() - 3, 3, "...") == 0;
  return is_cut ? '\'' + shown.substr(0, shown.size() - 3) + "'..." : '\'' + shown + '\'';
}

bool is_printable(std::string_view text) {
  for (size_t at = 0; at < text.size();)
    if (!is_harmless(next_code_point(text, at))) return false;
  return true;
}

}  // namespace etb::host
