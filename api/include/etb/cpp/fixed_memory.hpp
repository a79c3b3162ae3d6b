// SPDX-License-Identifier: Apache-2.0
// FixedMemory: an allocator for memory that the application has, such as a fast memory at a fixed address.
//
//   alignas(64) static std::byte sram[256 * 1024];
//   etb::FixedMemory fast({sram, sizeof sram});
//   etb::ModuleOptions options;
//   options.memory_allocators = {fast.service()};   // memory id 1; larger ids come from the heap
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "etb/host.h"

namespace etb {

// Lends its memory to one user at a time.
class FixedMemory {
 public:
  // `memory` outlives this object.
  explicit FixedMemory(std::span<std::byte> memory) noexcept : memory_(memory) {
    service_.struct_size = ETB_INIT_SIZE(etb_alloc_service);
    service_.ctx = this;
    service_.allocate = &FixedMemory::allocate;
    service_.free = &FixedMemory::free;
  }
  FixedMemory(const FixedMemory&) = delete;
  FixedMemory& operator=(const FixedMemory&) = delete;

  const etb_alloc_service* service() const noexcept { return &service_; }

 private:
  static void* ETB_CALL allocate(void* ctx, uint64_t nbytes, uint64_t alignment, const char*) {
    auto* const self = static_cast<FixedMemory*>(ctx);
    const bool is_aligned = reinterpret_cast<uintptr_t>(self->memory_.data()) % alignment == 0;
    if (!is_aligned || nbytes > self->memory_.size() || self->is_lent_.exchange(true)) return nullptr;
    return self->memory_.data();
  }
  static void ETB_CALL free(void* ctx, void* ptr) {
    if (ptr != nullptr) static_cast<FixedMemory*>(ctx)->is_lent_.store(false);
  }

  std::span<std::byte> memory_;
  std::atomic<bool> is_lent_ = false;
  etb_alloc_service service_{};
};

}  // namespace etb
