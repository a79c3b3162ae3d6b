// SPDX-License-Identifier: Apache-2.0
// Matches a Violation by rule, side and a part of its text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "host/layers/validate/fault_watch.hpp"
#include "host/layers/validate/validation.hpp"

namespace etb::host {

inline void PrintTo(const Violation& violation, std::ostream* out) { *out << format_violation(violation); }

// True if reports of guard pages distinguish reads and writes. Reads a protected byte to find out.
inline bool has_fault_kinds() {
#if defined(__x86_64__)
  return true;
#else
  static const bool has = [] {
    validate::WatchedPages pages(1, validate::Access::kNothing);
    validate::Fault fault;
    if (!pages.is_valid()) return false;
    const uint8_t byte = *const_cast<const volatile uint8_t*>(pages.begin());
    (void)byte;
    return pages.take_fault(fault) && fault.kind != validate::FaultKind::kUnknown;
  }();
  return has;
#endif
}

// "args: write at byte 4" as it is where kinds of faults are unknown: "args: access at byte 4".
inline std::string without_fault_kind(std::string text) {
  for (const std::string word : {"read", "write"})
    if (const size_t at = text.find(word); at != std::string::npos)
      return text.replace(at, word.size(), "access");
  return text;
}

// Where kinds of faults are unknown, also accepts "access" in place of "read" or "write".
inline ::testing::Matcher<const Violation&> Report(const std::string& rule, Side side,
                                                   const std::string& text = "") {
  ::testing::Matcher<const std::string&> has_text = ::testing::HasSubstr(text);
  if (!has_fault_kinds())
    has_text = ::testing::AnyOf(has_text, ::testing::HasSubstr(without_fault_kind(text)));
  return ::testing::AllOf(::testing::Field("rule", &Violation::rule, rule),
                          ::testing::Field("side", &Violation::side, side),
                          ::testing::Field("text", &Violation::text, has_text));
}

inline constexpr ValidateOptions::Memory kCanaries = ValidateOptions::Memory::CANARIES;
inline constexpr ValidateOptions::Memory kGuardPages = ValidateOptions::Memory::GUARD_PAGES;

inline ValidateOptions strict() {
  ValidateOptions options;
  options.strict = true;
  return options;
}

inline ValidateOptions with_memory(ValidateOptions::Memory memory) {
  ValidateOptions options;
  options.memory = memory;
  return options;
}

}  // namespace etb::host
