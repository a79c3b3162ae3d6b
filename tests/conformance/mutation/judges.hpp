// SPDX-License-Identifier: Apache-2.0
// The two judges of a plugin: cert, and the oracle that compares with PyTorch's numbers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/conformance/mutation/relevance.hpp"
#include "tests/conformance/mutation/target.hpp"

namespace etb::mutation {

struct JudgeInputs {
  std::string root;                         // of the repository
  std::string programs;                     // holds etbackend, program_samples and kernel_cases
  std::string plugin_folder;                // holds the library and its manifest
  std::string kernel_program;               // kernel_cases with the mutant's objects; "": no kernels
  std::vector<Sample> samples;              // for program_samples
  std::set<std::string> first_ops;          // of the mutated file: their cases and samples run first
  std::vector<std::string> noticed_before;  // by the oracle, of mutants of the same file
  std::set<std::string> cases_before;       // of cert, that failed for mutants of the same file
  std::string folder;                       // private, for temporary files
  uint32_t seconds = 900;                   // limit of one program
  uint32_t oracle_cpu_seconds = 120;        // limit of one program of the oracle, in seconds of a processor
};

struct Notice {
  bool is_noticed = false;
  std::string by;  // the first sample, case or check that noticed
};

Notice ask_oracle(const Target& target, const JudgeInputs& inputs);

// Runs the cases that probably notice before all others.
Notice ask_cert(const Target& target, const JudgeInputs& inputs);

// The suite, day and machine of the last run of ask_cert: "2026-11-26; AMD EPYC, 2 processors; ...; suite 0123456789ab".
std::string circumstances_of_cert(const JudgeInputs& inputs);

// Names of the cases that the plugin rejected in the last run of ask_cert that noticed nothing.
std::set<std::string> rejected_cases(const JudgeInputs& inputs);

}  // namespace etb::mutation
