// An option set in the way of its scope: at init, when a delegate is made, or for one run.
#pragma once

#include <string>
#include <vector>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

// There is no way to take a device away from outside: a plugin that has one to lose shows what it does then by this option of a run.
inline constexpr const char* kLoseDevice = "x-lose-device";

// What a plugin says about one of its options.
struct OptionFacts {
  std::string key;
  etb_option_type type = 0;
  uint32_t scopes = 0;  // ETB_OBJECT_*
  bool has_default = false;
  double minimum = 0, maximum = 0;
  std::vector<std::string> choices;

  bool has(uint32_t scope) const { return (scopes & scope) != 0; }
  // Both ends are numbers that an int64 holds, so that there is something beyond them.
  bool has_range() const { return minimum < maximum && minimum > -1e18 && maximum < 1e18; }
};

// Every option of the plugin. What the descriptions lack is a finding.
std::vector<OptionFacts> options_of(Subject& subject, CheckContext& context);

// An option without a value. `key` outlives it.
etb_option make_option(const char* key, etb_option_type type);

// Values of the option that should change no result: both ends of its range, each of its choices, yes and no. They point into `facts`.
std::vector<etb_option> ordinary_values(const OptionFacts& facts);

struct OptionTrial {
  bool is_taken = false;
  std::string error;  // why not
  std::string wrong;  // the case whose result was not right with it, "" for none
};

// Opens the plugin with the option, or makes a delegate, or runs with it, as its scopes say, and runs a few claimed cases. A plugin that claims nothing
// has nothing to make a delegate of: is_taken then, without a run.
OptionTrial try_option(CheckContext& context, uint32_t scopes, const etb_option& option);

// For people: "threads = 4".
std::string to_text(const etb_option& option);

}  // namespace etb::conformance
