// SPDX-License-Identifier: Apache-2.0
#include "tools/option_values.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "api/format/printable_text.hpp"
#include "host/registry/nearest_names.hpp"

namespace etb::tools {

namespace {

// Models have thousands of names; a message lists all of a short list, or the first ones.
constexpr size_t kMostNames = 30, kFirstNames = 10;

std::string joined(const std::vector<std::string>& names, size_t count) {
  return format::made_printable(
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(count), ", ")));
}

}  // namespace

std::string unknown_name(const std::string& found, const std::vector<std::string>& expected) {
  std::string text = "found " + format::in_quotes(found);
  const std::vector<std::string> nearest = host::nearest_names(found, expected);
  const size_t count = expected.size() > kMostNames ? kFirstNames : expected.size();
  if (expected.empty()) return text + ", and there is none";
  if (expected.size() <= kMostNames || nearest.empty())
    text += (expected.size() == 1 ? ", expected " : ", expected one of ") + joined(expected, count);
  if (count < expected.size() && nearest.empty())
    text += fmt::format(" and {} more", expected.size() - count);
  if (!nearest.empty()) text += "; nearest: " + joined(nearest, nearest.size());
  return text;
}

Error unknown_value(const std::string& option, const std::string& found,
                    const std::vector<std::string>& expected) {
  return Error{Code::INVALID_ARGUMENT, option + ": " + unknown_name(found, expected), "", 0};
}

CLI::Validator whole_number(uint64_t lowest, uint64_t highest, const std::string& note) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        uint64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        if (is_number && number >= lowest && number <= highest) return "";
        const std::string range = highest == UINT64_MAX ? fmt::format("a whole number from {} on", lowest)
                                                        : fmt::format("{} to {}", lowest, highest);
        return fmt::format("found {}, expected {}{}", format::in_quotes(text), range,
                           note.empty() ? "" : " (" + note + ")");
      },
      "");
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](std::string& text) -> std::string {
        if (std::find(names.begin(), names.end(), text) != names.end()) return "";
        return unknown_name(text, names);
      },
      fmt::format("{{{}}}", fmt::join(names, ",")));
}

}  // namespace etb::tools
