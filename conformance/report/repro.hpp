// SPDX-License-Identifier: Apache-2.0
// A failure saved in two files: NAME.json, which `verify --replay` repeats, and NAME.etg, the graph, which
// `etbackend graph` prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/outcome/small_case.hpp"
#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"

namespace etb::conformance {

struct Repro {
  uint32_t suite_version = 0;
  std::string name;                   // name of the case or check
  std::vector<std::string> sequence;  // items that must run before it, in order
  std::string contract;
  std::string plugin_id;
  std::string finding;             // text for the report
  std::optional<SmallCase> small;  // a smaller graph that fails like the case; judged by the same rule
  bool is_measured = false;        // `small` is no part of a case: `etbackend diff` cut it from a model
};

std::string to_json_text(const Repro& repro);

// Parses untrusted text. Errors: INVALID_DATA if anything is missing; INCOMPATIBLE for another suite version,
// whose names may have other data.
[[nodiscard]] Result<Repro> parse_repro(const std::string& text);

// Creates a folder unless it exists. The error names it.
[[nodiscard]] Status make_folder(const std::string& folder);

// Saves every failure into a folder, which it creates, with failures.txt: their commands, by kind. Returns
// the count.
[[nodiscard]] Result<size_t> save_repros(const Results& results, const Invocation& by);

}  // namespace etb::conformance
