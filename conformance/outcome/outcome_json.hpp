// SPDX-License-Identifier: Apache-2.0
// One outcome as one line of JSON: children send it to their parent, and results.jsonl stores it.
// docs/verify_schema.json is the schema.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "conformance/outcome/outcome.hpp"

namespace etb::conformance {

nlohmann::ordered_json to_json(const Outcome& outcome);

// Parses an untrusted line. Returns nullopt if it is no outcome.
std::optional<Outcome> outcome_from_json(const nlohmann::json& object);

// Returns JSON of one line, for any bytes in the texts.
std::string dump_line(const nlohmann::ordered_json& object);

}  // namespace etb::conformance
