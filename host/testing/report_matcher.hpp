// SPDX-License-Identifier: Apache-2.0
// Matches a Violation by rule, side and a part of its text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "host/layers/validate/validation.hpp"

namespace etb::host {

inline void PrintTo(const Violation& violation, std::ostream* out) { *out << format_violation(violation); }

inline ::testing::Matcher<const Violation&> Report(const std::string& rule, Side side,
                                                   const std::string& text = "") {
  return ::testing::AllOf(::testing::Field("rule", &Violation::rule, rule),
                          ::testing::Field("side", &Violation::side, side),
                          ::testing::Field("text", &Violation::text, ::testing::HasSubstr(text)));
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
