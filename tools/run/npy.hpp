// SPDX-License-Identifier: Apache-2.0
// Reads and writes NumPy's .npy files, versions 1 to 3.
#pragma once

#include <string>

#include "tools/run/array.hpp"

namespace etb::tools {

// Returns INVALID_DATA if the array has more than max_data_nbytes bytes, before memory is allocated for it.
[[nodiscard]] Result<Array> read_npy(const std::string& path, uint64_t max_data_nbytes = uint64_t{1} << 40);

// Writes row-major. bfloat16, unknown to NumPy, becomes float32 (without loss); other unknown types become
// bytes.
[[nodiscard]] Status write_npy(const std::string& path, const host::Tensor& tensor);

}  // namespace etb::tools
