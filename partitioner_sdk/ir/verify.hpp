// Checks that a module is what passes may rely on: a table of rules, run between passes in debug builds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

// Whether an argument is of the kind that a signature asks for.
bool fits(const Argument& argument, const ops::Type& type);

// What a rule found: each line names graph, node and source.
using Findings = std::vector<std::string>;

struct Rule {
  const char* id;         // "one-definition"
  const char* statement;  // what must hold
  void (*check)(Module& module, Findings& findings);
};

std::span<const Rule> verifier_rules();

// All rules; the error lists every finding with the id of its rule. Time is linear in the module.
[[nodiscard]] Status verify(Module& module);

}  // namespace etb::ir
