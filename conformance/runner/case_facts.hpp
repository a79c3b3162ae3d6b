// Everything that the plugin answered in one case, without an opinion: statuses, texts, bytes of outputs. The process that holds the plugin
// collects it (observe.hpp); the process that judges, where no code of the plugin runs, makes an outcome of it (assess.hpp).
#pragma once

#include <array>
#include <optional>

#include "conformance/cases/case.hpp"
#include "conformance/runner/aot_calls.hpp"

namespace etb::conformance {

struct RunFacts {
  etb_status status = ETB_OK;
  std::string error;
  std::vector<TensorData> outputs;
};

// A breach of a rule of the ABI that the validate layer saw.
struct Breach {
  bool is_of_plugin = true;
  std::string rule, function, text;
};

// Fields stay empty after the first call whose answer ends the case.
struct CaseFacts {
  std::string open_error;                 // the plugin could not be opened; nothing else is known then
  Answers first, second;                  // partition, twice
  std::vector<std::string> unlisted_ops;  // claimed, and not in the op table
  etb_status dry_status = ETB_OK;
  std::string dry_error;
  bool has_compiled = false;  // compile was called
  etb_status compile_status = ETB_OK;
  std::string compile_error;
  std::string create_error;  // "" when a session was made
  std::vector<std::array<RunFacts, 2>> runs;
  std::string end_error;
  std::vector<Breach> breaches;
};

// What a case needs to run: the graph and the inputs of each run.
std::vector<std::byte> encode_case(const BuiltCase& built);
[[nodiscard]] Result<BuiltCase> decode_case(std::span<const std::byte> data);

std::vector<std::byte> encode_facts(const CaseFacts& facts);
// Of untrusted bytes; nullopt when they are no facts.
std::optional<CaseFacts> decode_facts(std::span<const std::byte> data);

}  // namespace etb::conformance
