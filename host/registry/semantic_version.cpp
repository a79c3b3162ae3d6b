// SPDX-License-Identifier: Apache-2.0
#include "host/registry/semantic_version.hpp"

#include <algorithm>

namespace etb::host {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_identifier_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}
bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}
bool has_leading_zero(std::string_view number) { return number.size() > 1 && number[0] == '0'; }

// Removes the part before `separator` from the front of `text` and returns it: all of `text` when there is
// none.
std::string_view cut(std::string_view& text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return head;
}

struct Parts {
  std::string_view core;
  std::string_view pre_release;
  std::string_view build;
  bool has_pre_release;
  bool has_build;
};

Parts split(std::string_view text) {
  Parts parts{};
  const size_t plus = text.find('+');
  parts.has_build = plus != std::string_view::npos;
  if (parts.has_build) parts.build = text.substr(plus + 1);
  text = text.substr(0, plus);
  const size_t minus = text.find('-');
  parts.has_pre_release = minus != std::string_view::npos;
  if (parts.has_pre_release) parts.pre_release = text.substr(minus + 1);
  parts.core = text.substr(0, minus);
  return parts;
}

bool are_identifiers(std::string_view text, bool allow_leading_zero) {
  if (text.empty() || text.back() == '.') return false;
  while (!text.empty()) {
    const std::string_view one = cut(text, '.');
    if (one.empty() || !std::all_of(one.begin(), one.end(), is_identifier_char)) return false;
    if (!allow_leading_zero && is_number(one) && has_leading_zero(one)) return false;
  }
  return true;
}

int sign(int value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

// Compares numbers of any length without leading zeros.
int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return sign(a.compare(b));
}

int compare_identifiers(std::string_view a, std::string_view b) {
  const bool a_number = is_number(a), b_number = is_number(b);
  if (a_number && b_number) return compare_numbers(a, b);
  if (a_number != b_number) return a_number ? -1 : 1;
  return sign(a.compare(b));
}

}  // namespace

bool is_semantic_version(std::string_view text) {
  const Parts parts = split(text);
  std::string_view core = parts.core;
  if (std::count(core.begin(), core.end(), '.') != 2) return false;
  for (int i = 0; i < 3; ++i) {
    const std::string_view number = cut(core, '.');
    if (!is_number(number) || has_leading_zero(number)) return false;
  }
  return (!parts.has_pre_release || are_identifiers(parts.pre_release, false)) &&
         (!parts.has_build || are_identifiers(parts.build, true));
}

int compare_semantic_versions(std::string_view a, std::string_view b) {
  Parts left = split(a), right = split(b);
  for (int i = 0; i < 3; ++i)
    if (const int order = compare_numbers(cut(left.core, '.'), cut(right.core, '.'))) return order;
  if (left.has_pre_release != right.has_pre_release) return left.has_pre_release ? -1 : 1;
  while (!left.pre_release.empty() && !right.pre_release.empty())
    if (const int order = compare_identifiers(cut(left.pre_release, '.'), cut(right.pre_release, '.')))
      return order;
  return static_cast<int>(!left.pre_release.empty()) - static_cast<int>(!right.pre_release.empty());
}

}  // namespace etb::host
