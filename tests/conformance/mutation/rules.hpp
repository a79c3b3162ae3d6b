// SPDX-License-Identifier: Apache-2.0
// Mutants of a source file: each is one small change that a programmer could have made by mistake.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/mutation/tokens.hpp"

namespace etb::mutation {

struct Mutant {
  std::string id;    // of file, class, place and replacement: the same in every run over the same file
  std::string file;  // relative to the root of the repository
  std::string
      group;  // class: arithmetic, comparison, logic, bits, constant, condition, bound, index, statement, arguments
  uint32_t line = 0;
  uint32_t offset = 0, length = 0;  // of the bytes that are replaced
  std::string replacement;
};

// Returns the mutants of a file in order. Code of assertions and attributes is left out.
std::vector<Mutant> find_mutants(const std::string& file, const Source& source);

std::string apply(const Mutant& mutant, const std::string& text);

// Returns the changed lines: "-old\n+new\n".
std::string diff_of(const Mutant& mutant, const std::string& text);

// 64-bit FNV-1a.
uint64_t hash_of(std::string_view text);

}  // namespace etb::mutation
