// SPDX-License-Identifier: Apache-2.0
// Checks a module against the rules that passes rely on: a table of rules, run between passes in debug
// builds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

// True if an argument has the kind that a signature requires.
bool fits(const Argument& argument, const ops::Type& type);

// Findings of a rule: each line names graph, node and source.
using Findings = std::vector<std::string>;

struct Rule {
  const char* id;         // "one-definition"
  const char* statement;  // rule in words
  void (*check)(Module& module, Findings& findings);
};

std::span<const Rule> verifier_rules();

// Checks all rules. The error lists every finding with the id of its rule. Linear in the size of the module.
[[nodiscard]] Status verify(Module& module);

}  // namespace etb::ir
