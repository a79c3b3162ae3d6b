// SPDX-License-Identifier: Apache-2.0
// The plugin's answers in one case: statuses, texts, bytes of outputs. The process that holds the plugin
// collects them (observe.hpp). The judging process, which runs no code of the plugin, turns them into an
// outcome (assess.hpp).
#pragma once

#include <array>
#include <optional>

#include "conformance/cases/case.hpp"
#include "conformance/subject/aot_calls.hpp"

namespace etb::conformance {

struct RunFacts {
  etb_status status = ETB_OK;
  std::string error;
  std::vector<TensorData> outputs;
};

// A breach of an ABI rule that the validate layer saw.
struct Breach {
  bool is_of_plugin = true;
  std::string rule, function, text;
};

// Fields after the call that ended the case stay empty.
struct CaseFacts {
  std::string open_error;                 // the plugin could not be opened; all other fields are empty
  Answers first, second;                  // partition, twice
  std::vector<std::string> unlisted_ops;  // claimed, but not in the op table
  etb_status dry_status = ETB_OK;
  std::string dry_error;
  bool has_compiled = false;  // compile was called
  etb_status compile_status = ETB_OK;
  std::string compile_error;
  std::string create_error;  // "" if a session was created
  std::vector<std::array<RunFacts, 2>> runs;
  std::string end_error;
  std::vector<Breach> breaches;
};

// Encodes the graph of a case and the inputs of each run.
std::vector<std::byte> encode_case(const BuiltCase& built);
[[nodiscard]] Result<BuiltCase> decode_case(std::span<const std::byte> data);

std::vector<std::byte> encode_facts(const CaseFacts& facts);
// Decodes untrusted bytes. Returns nullopt if they are no facts.
std::optional<CaseFacts> decode_facts(std::span<const std::byte> data);

}  // namespace etb::conformance
