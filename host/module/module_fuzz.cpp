// Any bytes as a program: refused, or loaded and run with the portable kernels within limits.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/module/run_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> file(first, first + size);
  etb::host::run_bytes(file);
  return 0;
}
