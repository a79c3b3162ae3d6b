// One outcome as one line of JSON: what children send to their parent and what results.jsonl holds. docs/verify_schema.json is the schema.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "conformance/runner/outcome.hpp"

namespace etb::conformance {

nlohmann::ordered_json to_json(const Outcome& outcome);

// Of an untrusted line; nullopt when it is no outcome.
std::optional<Outcome> outcome_from_json(const nlohmann::json& object);

// JSON of one line, whatever bytes the texts hold.
std::string dump_line(const nlohmann::ordered_json& object);

}  // namespace etb::conformance
