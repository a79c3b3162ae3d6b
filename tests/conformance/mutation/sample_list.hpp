// SPDX-License-Identifier: Apache-2.0
// The samples and models that the oracle runs for a plugin.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "tests/conformance/mutation/judges.hpp"

namespace etb::mutation {

// File of `work` with the samples that the oracle runs for a plugin.
std::string sample_list_path(const Target& target, const std::string& work);

// Returns the samples that call the plugin and are right with the unchanged one. The list is made once and kept in `work`.
// `samples` is a folder of export_samples.py, or "": only those of the repository.
[[nodiscard]] Result<std::vector<Sample>> list_samples(const Target& target, const JudgeInputs& inputs,
                                                       const std::string& samples, const std::string& work);

}  // namespace etb::mutation
