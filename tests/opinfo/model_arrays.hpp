// SPDX-License-Identifier: Apache-2.0
// Whole models with PyTorch's results as arrays beside them: NAME.pt2, NAME.in.0.npy (or .txt for a number), NAME.out.0.npy.
#pragma once

#include <string>
#include <vector>

namespace etb::tests {

// True if `path`, without ending, is such a model.
bool is_model(const std::string& path);

// Returns the arguments of `etbackend run` for its inputs.
std::vector<std::string> input_arguments(const std::string& path);

// Compares the arrays 0.npy, 1.npy, ... of `folder` with the model's results. Returns "" if they agree within `tolerance`, a part of
// the largest value.
std::string compare_outputs(const std::string& path, const std::string& folder, double tolerance);

}  // namespace etb::tests
