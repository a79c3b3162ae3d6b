// SPDX-License-Identifier: Apache-2.0
// A distance that a program of the user computes.
#pragma once

#include "tools/diff/metrics.hpp"

namespace etb::diff {

// `text`: NAME=COMMAND. The shell runs COMMAND with the paths of two .npy files, of side A and of side B, as further
// arguments. Its first line of output is a number.
[[nodiscard]] Result<Comparator> parse_comparator(const std::string& text);

// Writes an array (.npy), row-major.
[[nodiscard]] Status write_array(const std::string& path, const TensorData& tensor);

}  // namespace etb::diff
