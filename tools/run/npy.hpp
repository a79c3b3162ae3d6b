// NumPy's .npy files, version 1 to 3.
#pragma once

#include <string>

#include "tools/run/array.hpp"

namespace etb::tools {

[[nodiscard]] Result<Array> read_npy(const std::string& path);

// Row-major. bfloat16, which NumPy does not know, becomes float32 (without loss); other unknown types become bytes.
[[nodiscard]] Status write_npy(const std::string& path, const host::Tensor& tensor);

// The bytes of a whole file.
[[nodiscard]] Result<std::vector<std::byte>> read_bytes(const std::string& path);
[[nodiscard]] Status write_bytes(const std::string& path, std::span<const std::byte> bytes);

}  // namespace etb::tools
