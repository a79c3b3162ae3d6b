// SPDX-License-Identifier: Apache-2.0
// Waivers: failures accepted by an owner until a date. A JSON array with one waiver per line:
//   {"pattern": "op.exp.*", "plugin": "com.example.my-npu", "reason": "hardware", "tracker": "https://...",
//    "owner": "who", "expires": "2027-01-31"}
// Waived cases still run. One that passes is xpass and fails the run, so waivers are removed with their
// cause.
#pragma once

#include <string>
#include <vector>

#include "conformance/outcome/outcome.hpp"
#include "etb/cpp/result.hpp"

namespace etb::conformance {

struct Waiver {
  std::string pattern;
  std::string plugin;
  std::string reason;  // hardware, suite-bug, spec-unclear
  std::string tracker;
  std::string owner;
  std::string expires;  // YYYY-MM-DD, the last day
};

// `today` is YYYY-MM-DD. An expired waiver is an error that names it. So is one without reason, owner or
// date.
[[nodiscard]] Result<std::vector<Waiver>> parse_waivers(const std::string& text, const std::string& today);

// Changes the state of an outcome that a waiver for this plugin covers: failures to waived, passes to xpass.
// "Dishonest" is never waived: the plugin must drop a claim that does not hold.
void apply_waivers(const std::vector<Waiver>& waivers, const std::string& plugin_id, Outcome& outcome);

}  // namespace etb::conformance
