// SPDX-License-Identifier: Apache-2.0
// Writes outputs of a method to files.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::tools {

// Writes folder/0.npy, folder/1.npy, ...; a number is an array of rank 0, as in NumPy.
[[nodiscard]] Status write_npy_files(const std::string& folder, const std::vector<host::EValue>& outputs);

// Writes base-0.bin, base-1.bin, ...: raw, row-major, tensors only.
[[nodiscard]] Status write_raw_files(const std::string& base, const std::vector<host::EValue>& outputs);

}  // namespace etb::tools
