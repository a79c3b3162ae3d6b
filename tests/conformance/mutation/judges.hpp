// SPDX-License-Identifier: Apache-2.0
// The two judges of a plugin: cert, and the oracle that compares with PyTorch's numbers.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/mutation/target.hpp"

namespace etb::mutation {

struct JudgeInputs {
  std::string root;            // of the repository
  std::string programs;        // holds etbackend, program_samples and kernel_cases
  std::string plugin_folder;   // holds the library and its manifest
  std::string kernel_program;  // kernel_cases with the mutant's objects; "": no kernels
  std::string sample_list;     // file with samples for program_samples
  std::string folder;          // private, for temporary files
  uint32_t seconds = 900;      // limit of one program
};

struct Notice {
  bool is_noticed = false;
  std::string by;  // the first sample, case or check that noticed
};

Notice ask_oracle(const Target& target, const JudgeInputs& inputs);

// `first` holds patterns of cases that probably notice. They run before all others. With `only_first`, nothing else runs.
Notice ask_cert(const Target& target, const JudgeInputs& inputs, const std::vector<std::string>& first,
                bool only_first);

// Returns patterns of cases for a source file and for the sample that the oracle noticed.
std::vector<std::string> patterns_for(const std::string& file, const std::string& by_oracle);

}  // namespace etb::mutation
