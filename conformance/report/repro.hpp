// A failure saved in two files: NAME.json, which `verify --replay` runs again, and NAME.etg, the graph, which `etbackend graph` shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/report/kinds.hpp"
#include "conformance/report/results.hpp"
#include "conformance/runner/small_case.hpp"

namespace etb::conformance {

struct Repro {
  uint32_t suite_version = 0;
  std::string name;                   // of the case or check
  std::vector<std::string> sequence;  // what must run before it, in order
  std::string contract;
  std::string plugin_id;
  std::string finding;             // for people
  std::optional<SmallCase> small;  // a smaller graph that fails like the case; judged as the case is
};

std::string to_json_text(const Repro& repro);

// Of untrusted text. Refuses (Code::INVALID_DATA) anything that is not whole; INCOMPATIBLE for another suite version, whose names may mean other data.
[[nodiscard]] Result<Repro> parse_repro(const std::string& text);

// Makes a folder, unless it is there; the error names it.
[[nodiscard]] Status make_folder(const std::string& folder);

// Saves every failure into a folder, which is made, with failures.txt: their commands, by kind. Returns how many.
[[nodiscard]] Result<size_t> save_repros(const Results& results, const Invocation& by);

}  // namespace etb::conformance
