// SPDX-License-Identifier: Apache-2.0
// Constants of official payloads, in the program's named data or in the payload.
#pragma once

#include "etb/cpp/payload.hpp"
#include "plugins/gpu/official/file.hpp"

namespace etb::gpu {

struct FileConstant {
  GpuValue value;
  double magnitude = 0;  // the largest; infinite if it is not known
};

// Returns the value of a constant tensor: a name for float32, which is read when it is packed; numbers for the others.
[[nodiscard]] Result<FileConstant> read_constant(const VulkanFile& file, uint32_t value,
                                                 const NamedData& data);

// Reads the numbers of a constant.
[[nodiscard]] Result<std::vector<float>> read_constant_floats(const VulkanFile& file,
                                                              const FileTensor& tensor,
                                                              const NamedData& data);

}  // namespace etb::gpu
