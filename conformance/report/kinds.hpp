// SPDX-License-Identifier: Apache-2.0
// Groups failures by kind (one check, one op) and writes the command that repeats one.
#pragma once

#include <string>
#include <vector>

#include "conformance/outcome/outcome.hpp"

namespace etb::conformance {

struct Kind {
  std::string title;                     // "op.exact-probe aten.mm.default"
  std::vector<const Outcome*> outcomes;  // short names first: they are the smallest
};
// Returns the kinds with most failures first.
std::vector<Kind> kinds_of_failures(const std::vector<Outcome>& outcomes);

// The command line of the run.
struct Invocation {
  std::string command;   // "etbackend verify my_npu", with options for plugin and precision
  std::string saved_in;  // folder with a file for each failure; "" if none were saved
};

// Returns one line for a shell. A saved failure is repeated from its file: the smallest failing graph, and
// the items that must run before.
std::string repeat_command(const Invocation& by, const Outcome& outcome);

// Quotes an argument for a shell.
std::string quoted(const std::string& text);

// Results of repeating the failures.
struct Looks {
  size_t smaller = 0, itself = 0, after_others = 0, flaky = 0, none = 0;
};
Looks count_looks(const std::vector<Outcome>& outcomes);
bool has_look(const Outcome& outcome);

}  // namespace etb::conformance
