// SPDX-License-Identifier: Apache-2.0
// BumpAllocator: allocates from the caller's memory, front to back, and frees nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>

namespace etb::host {

class BumpAllocator {
 public:
  BumpAllocator() noexcept = default;
  explicit BumpAllocator(std::span<std::byte> memory) noexcept : memory_(memory) {}

  // Returns null when the memory is used up.
  [[nodiscard]] void* allocate(uint64_t nbytes, size_t alignment = alignof(std::max_align_t)) noexcept {
    const auto base = reinterpret_cast<uintptr_t>(memory_.data());
    const size_t start = ((base + used_ + alignment - 1) & ~(alignment - 1)) - base;
    if (start > memory_.size() || nbytes > memory_.size() - start) return nullptr;
    used_ = start + static_cast<size_t>(nbytes);
    return memory_.data() + start;
  }

  // Returns `count` value-initialised objects that need no destructor, or null.
  template <class T>
  [[nodiscard]] T* allocate_array(uint64_t count) noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    uint64_t nbytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &nbytes)) return nullptr;
    auto* items = static_cast<T*>(allocate(nbytes, alignof(T)));
    for (uint64_t i = 0; items != nullptr && i < count; ++i) new (items + i) T();
    return items;
  }

  uint64_t capacity_bytes() const noexcept { return memory_.size(); }

 private:
  std::span<std::byte> memory_;
  size_t used_ = 0;
};

}  // namespace etb::host
