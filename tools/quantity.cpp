// SPDX-License-Identifier: Apache-2.0
#include "tools/quantity.hpp"

#include <fmt/format.h>

namespace etb::tools {

namespace {

std::string plural_of(std::string_view noun) {
  const std::string text(noun);
  const bool has_vowel =
      noun.size() >= 2 && std::string_view("aeiou").find(noun[noun.size() - 2]) != std::string_view::npos;
  if (noun.ends_with('y') && !has_vowel) return text.substr(0, text.size() - 1) + "ies";
  for (const char* ending : {"s", "x", "ch", "sh"})
    if (noun.ends_with(ending)) return text + "es";
  return text + "s";
}

}  // namespace

std::string count_of(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}", count, count == 1 ? std::string(noun) : plural_of(noun));
}

std::string nbytes_text(uint64_t nbytes) {
  constexpr uint64_t kUnit = 1024;
  if (nbytes < kUnit) return count_of(nbytes, "byte");
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double number = static_cast<double>(nbytes);
  size_t unit = 0;
  // 1023.95 and more would print as 1024.0.
  for (number /= kUnit; number >= 1023.95 && unit + 1 < std::size(kUnits); ++unit) number /= kUnit;
  std::string text = fmt::format("{:.1f}", number);
  if (text.ends_with(".0") || number >= 100) text = fmt::format("{:.0f}", number);
  return text + " " + kUnits[unit];
}

}  // namespace etb::tools
