// SPDX-License-Identifier: Apache-2.0
// Memory of methods, owned and counted. The system provides zero pages at their first use.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "etb/cpp/result.hpp"
#include "etb/host.h"
#include "host/runtime/method.hpp"

namespace etb::host {

// Limit (LoadLimits::max_memory_bytes), sum and source of a module's allocations. Not shared between threads.
class MemoryBudget {
 public:
  // max_bytes 0: 16 GiB, or the memory of the machine or of the process's control group where that is less.
  // `allocator` NULL: the C library's; else it outlives all memory.
  explicit MemoryBudget(uint64_t max_bytes, const etb_alloc_service* allocator = nullptr);

  // Returns Code::OUT_OF_MEMORY with `what`, its size, the bytes in use, and the limit.
  [[nodiscard]] Status take(const char* what, uint64_t nbytes);
  void give_back(uint64_t nbytes) noexcept { used_bytes_ -= nbytes; }
  uint64_t used_bytes() const noexcept { return used_bytes_; }
  uint64_t max_bytes() const noexcept { return max_bytes_; }

  // Zeroed memory, or NULL. `what` is its purpose. The memory is not counted.
  void* allocate(const char* what, uint64_t nbytes, uint64_t alignment) const noexcept {
    return allocate_from(allocator_, what, nbytes, alignment);
  }
  void free(void* memory) const noexcept { free_to(allocator_, memory); }
  // The same with another allocator; NULL: the C library's.
  static void* allocate_from(const etb_alloc_service* allocator, const char* what, uint64_t nbytes,
                             uint64_t alignment) noexcept;
  static void free_to(const etb_alloc_service* allocator, void* memory) noexcept;
  const etb_alloc_service* allocator() const noexcept { return allocator_; }

 private:
  const etb_alloc_service* allocator_;
  uint64_t max_bytes_;
  uint64_t used_bytes_ = 0;
};

// Zeroed bytes on a 64-byte boundary, counted in a budget that outlives them.
class ZeroedBuffer {
 public:
  // `what` names the memory in error messages: "arena 0".
  [[nodiscard]] static Result<ZeroedBuffer> make(MemoryBudget& budget, const char* what, uint64_t nbytes) {
    return make(budget, what, nbytes, budget.allocator());
  }
  [[nodiscard]] static Result<ZeroedBuffer> make(MemoryBudget& budget, const char* what, uint64_t nbytes,
                                                 const etb_alloc_service* allocator);
  ZeroedBuffer() noexcept = default;
  ZeroedBuffer(ZeroedBuffer&& other) noexcept { swap(other); }
  ZeroedBuffer& operator=(ZeroedBuffer&& other) noexcept {
    ZeroedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~ZeroedBuffer() {
    if (budget_ == nullptr) return;
    MemoryBudget::free_to(allocator_, memory_);
    budget_->give_back(bytes_.size());
  }
  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  void swap(ZeroedBuffer& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(allocator_, other.allocator_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
  }

  MemoryBudget* budget_ = nullptr;
  const etb_alloc_service* allocator_ = nullptr;
  void* memory_ = nullptr;
  std::span<std::byte> bytes_;
};

struct Arenas {
  std::vector<ZeroedBuffer> buffers;
  std::vector<std::span<std::byte>> spans;

  // Makes arena i at least `sizes[i]` bytes long. An arena with an allocator of its own, allocators[i], has that size.
  [[nodiscard]] Status make(MemoryBudget& budget, std::span<const uint64_t> sizes,
                            std::span<const etb_alloc_service* const> allocators);
};

}  // namespace etb::host
