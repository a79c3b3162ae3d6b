// SPDX-License-Identifier: Apache-2.0
// Rule: the id of a rule, checked against rules.def at compile time.
#pragma once

#include <string_view>

namespace etb::host::validate {

namespace detail {
constexpr bool is_rule(std::string_view id) {
#define ETB_RULE(known, sentence) \
  if (id == known) return true;
#include "etb/rules.def"
#undef ETB_RULE
  return false;
}
}  // namespace detail

struct Rule {
  const char* id;

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a rule
  consteval Rule(const char* text) : id(text) {
    if (!detail::is_rule(text)) throw "not a rule of rules.def";
  }
};

}  // namespace etb::host::validate
