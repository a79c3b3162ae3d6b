// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/number_list.hpp"

#include <fmt/format.h>

#include <charconv>

#include "api/format/printable_text.hpp"

namespace etb::bench {
namespace {

constexpr size_t kMostNumbers = 1024;

// FIRST-LAST, with the number that each step adds or multiplies.
struct Range {
  uint64_t first = 0, last = 0;
  uint64_t step = 1;
  bool is_product = false;
};

// Reads digits from the begin of `text` and removes them. Returns false if there are none, or too many.
bool take_number(std::string_view& text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out > UINT32_MAX) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool parse_range(std::string_view text, Range& out) {
  if (!take_number(text, out.first)) return false;
  out.last = out.first;
  if (text.empty()) return true;
  if (text.front() != '-') return false;
  text.remove_prefix(1);
  if (!take_number(text, out.last)) return false;
  if (text.empty()) return true;
  if (text.front() != '+' && text.front() != '*') return false;
  out.is_product = text.front() == '*';
  text.remove_prefix(1);
  return take_number(text, out.step) && text.empty();
}

bool has_progress(const Range& range) {
  if (range.first == range.last) return true;
  if (range.first > range.last) return false;
  return range.is_product ? range.step > 1 && range.first > 0 : range.step > 0;
}

}  // namespace

Result<std::vector<uint32_t>> parse_numbers(const std::string& word, const NumberBounds& bounds) {
  Range range;
  const bool is_range = parse_range(word, range);
  if (!is_range || range.first < bounds.lowest || range.last > bounds.highest || !has_progress(range))
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("found {}, expected {} to {}{}, or a range such as 1-4, 2-8+2 or 1-8*2",
                                  format::in_quotes(word), bounds.lowest, bounds.highest,
                                  bounds.note.empty() ? "" : " (" + bounds.note + ")"));
  std::vector<uint32_t> out;
  for (uint64_t number = range.first; number <= range.last;
       number = range.is_product ? number * range.step : number + range.step) {
    if (out.size() == kMostNumbers)
      return make_error(Code::INVALID_ARGUMENT,
                        fmt::format("{} has more than {} numbers", format::in_quotes(word), kMostNumbers));
    out.push_back(static_cast<uint32_t>(number));
    if (range.first == range.last) break;
  }
  return out;
}

}  // namespace etb::bench
