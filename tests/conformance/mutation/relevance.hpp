// SPDX-License-Identifier: Apache-2.0
// Cases and samples that probably notice a mutant of a file. They run first, so that most mutants cost little.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace etb::mutation {

// Names of the ops that a source file names: "ops/amax.hpp" and "ops::amax_out" are both "amax".
std::set<std::string> ops_named_in(const std::string& source);

// Names of the ops in an exported program. Its archive stores the graph as text.
std::set<std::string> ops_of_program(const std::string& path);

struct Sample {
  std::string path;  // without ending
  std::set<std::string> ops;
};

// Sorts samples: first those that the outcomes of other mutants of the file name, then those with an op of the file. The order is else
// unchanged.
std::vector<Sample> with_first(std::vector<Sample> samples, const std::set<std::string>& ops,
                               const std::vector<std::string>& noticed_before);

// Returns patterns of `etbackend verify` for the cases of ops.
std::vector<std::string> patterns_for(const std::set<std::string>& ops);

}  // namespace etb::mutation
