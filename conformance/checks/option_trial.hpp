// SPDX-License-Identifier: Apache-2.0
// Sets an option at its scope: at init, when a delegate is created, or for one run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

// The suite cannot remove a device. A plugin with a removable device simulates the loss with this run option.
inline constexpr const char* kLoseDevice = "x-lose-device";

// An option as the plugin describes it.
struct OptionFacts {
  std::string key;
  etb_option_type type = 0;
  uint32_t scopes = 0;  // ETB_OBJECT_*
  bool has_default = false;
  double minimum = 0, maximum = 0;
  std::vector<std::string> choices;

  bool has(uint32_t scope) const { return (scopes & scope) != 0; }
  // There are values beyond both ends; those of integers fit in an int64.
  bool has_range() const {
    const double most = type == ETB_OPTION_F64 ? 1e300 : 1e18;
    return minimum < maximum && minimum > -most && maximum < most;
  }
};

// Returns every option of the plugin. Incomplete descriptions are findings.
std::vector<OptionFacts> options_of(Subject& subject, CheckContext& context);

// Returns an option without a value. `key` must outlive it.
etb_option make_option(const char* key, etb_option_type type);

// Returns values that should change no result: both ends of the range, each choice, yes and no. They point
// into `facts`.
std::vector<etb_option> ordinary_values(const OptionFacts& facts);

// Returns further values that the schema allows, and that may change results.
std::vector<etb_option> inner_values(const OptionFacts& facts);

// Returns values that the schema excludes: below and above the range, other choices, other types.
std::vector<etb_option> excluded_values(const OptionFacts& facts);

// Returns the scopes that receive options when an object is made or run, and the functions that take them. The scope of
// devices is one of them if the plugin lists a device.
std::vector<std::pair<uint32_t, const char*>> option_scopes(Subject& subject);

// Passes options to the function of one scope. Returns its status.
etb_status pass_options(CheckContext& context, Subject& subject, const ClaimedCase& item, uint32_t scope,
                        const std::vector<etb_option>& options);

struct OptionTrial {
  bool is_taken = false;
  std::string error;  // why it was rejected
  std::string wrong;  // the case with a wrong result, "" for none
};

// Opens the plugin with the option, creates a delegate with it, or runs with it, by scope, and runs a few
// claimed cases. A plugin without claims has no delegate: then is_taken is true without a run.
OptionTrial try_option(CheckContext& context, uint32_t scopes, const etb_option& option);

// Returns text for messages: "threads = 4".
std::string to_text(const etb_option& option);

}  // namespace etb::conformance
