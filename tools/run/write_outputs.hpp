// Outputs of a method as files.
#pragma once

#include <string>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::tools {

// folder/0.npy, folder/1.npy, ...; a number is an array of rank 0, as NumPy stores one.
[[nodiscard]] Status write_npy_files(const std::string& folder, const std::vector<host::EValue>& outputs);

// base-0.bin, base-1.bin, ...: raw, row-major, tensors only.
[[nodiscard]] Status write_raw_files(const std::string& base, const std::vector<host::EValue>& outputs);

}  // namespace etb::tools
