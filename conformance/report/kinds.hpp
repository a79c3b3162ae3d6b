// Failures by kind - one check, one op - and how a person sees one again.
#pragma once

#include <string>
#include <vector>

#include "conformance/runner/outcome.hpp"

namespace etb::conformance {

struct Kind {
  std::string title;                     // "op.exact-probe aten.mm.default"
  std::vector<const Outcome*> outcomes;  // short names first: they are the smallest
};
// Those with most failures first.
std::vector<Kind> kinds_of_failures(const std::vector<Outcome>& outcomes);

// How the run was started.
struct Invocation {
  std::string command;   // "etbackend verify my_npu", with what else names the plugin and how it computes
  std::string saved_in;  // where each failure has a file; "" when they were not saved
};

// One line for a shell. A saved failure runs again from its file, the smallest graph that shows it and what must run before it.
std::string repeat_command(const Invocation& by, const Outcome& outcome);

// As an argument for a shell.
std::string quoted(const std::string& text);

// What a closer look made of the failures.
struct Looks {
  size_t smaller = 0, itself = 0, after_others = 0, flaky = 0, none = 0;
};
Looks count_looks(const std::vector<Outcome>& outcomes);
bool has_look(const Outcome& outcome);

}  // namespace etb::conformance
