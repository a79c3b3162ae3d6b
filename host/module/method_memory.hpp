// MethodBuffers: the memory of one method, owned. Zero pages come from the system when first touched.
#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "etb/cpp/result.hpp"
#include "host/runtime/method.hpp"

namespace etb::host {

// Zeroed bytes on a 64-byte boundary.
class ZeroedBuffer {
 public:
  [[nodiscard]] static Result<ZeroedBuffer> make(uint64_t nbytes);
  ZeroedBuffer() noexcept = default;
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::span<std::byte> bytes_;
};

struct Arenas {
  std::vector<ZeroedBuffer> buffers;
  std::vector<std::span<std::byte>> spans;

  // Makes arena i at least `sizes[i]` long. Refuses more than `max_bytes` in all.
  [[nodiscard]] Status make(std::span<const uint64_t> sizes, uint64_t max_bytes);
};

}  // namespace etb::host
