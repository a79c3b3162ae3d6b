// NumPy's .npy files, version 1 to 3.
#pragma once

#include <string>

#include "tools/run/array.hpp"

namespace etb::tools {

// INVALID_DATA when its array has more than max_data_nbytes bytes; then no memory was taken for it.
[[nodiscard]] Result<Array> read_npy(const std::string& path, uint64_t max_data_nbytes = uint64_t{1} << 40);

// Row-major. bfloat16, which NumPy does not know, becomes float32 (without loss); other unknown types become bytes.
[[nodiscard]] Status write_npy(const std::string& path, const host::Tensor& tensor);

}  // namespace etb::tools
