// SPDX-License-Identifier: Apache-2.0
// Rules of the fault layer:
//
//   out-of-memory,at=delegate.create,nth=2+delay,ms=5,chance=0.1+seed=42
//
// Rules are separated by +, the parts of a rule by commas. A rule is an action (actions.def) with keys (keys.def).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::host::fault {

#define ETB_FAULT(name, text, functions, description) name,
enum class Action : uint8_t {
#include "host/layers/fault/actions.def"
};
#undef ETB_FAULT

const char* to_text(Action action) noexcept;

struct Rule {
  Action action = Action::DELAY;
  std::vector<std::string> functions;     // patterns
  uint64_t nth = 0, from = 0, every = 0;  // 0: not given
  double chance = 1;
  uint64_t ms = 10, bits = 1, bytes = 0;
  etb_status status = ETB_INTERNAL;
};

struct Rules {
  std::vector<Rule> rules;
  uint64_t seed = 0;
  bool has_seed = false;  // false: the layer chooses one, and prints it
};

// Parses the text; "" has no rules. Messages name the alternatives.
[[nodiscard]] Result<Rules> parse_rules(const std::string& text);

// True if `pattern`, with * for any text, matches the name of a function.
bool matches(std::string_view pattern, std::string_view function) noexcept;

// True if the rule acts in the `count`-th call of its functions (from 1), apart from chance.
bool is_due(const Rule& rule, uint64_t count) noexcept;

}  // namespace etb::host::fault
