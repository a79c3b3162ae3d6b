// SPDX-License-Identifier: Apache-2.0
// Fuzzes arbitrary bytes as a program: the host rejects it, or loads and runs it with the
// portable kernels within limits.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/testing/run_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> file(first, first + size);
  etb::host::run_bytes(file);
  return 0;
}
