// SPDX-License-Identifier: Apache-2.0
#include "host/module/method_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace etb::host {

namespace {

constexpr uint64_t kBoundary = 64;

// Bytes after each arena. Plugins that read past a tensor's end ask for less, so the last tensor needs no
// copy.
constexpr uint64_t kArenaPadding = 64;

constexpr uint64_t kDefaultMaxBytes = uint64_t{16} << 30;

// Memory of the machine, or of the control group that a container runs in where that is less.
uint64_t machine_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_nbytes = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && page_nbytes > 0
                       ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_nbytes)
                       : UINT64_MAX;
  uint64_t group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group && group != 0) bytes = std::min(bytes, group);
  return bytes;
}

uint64_t default_max_bytes() {
  static const uint64_t bytes = std::min(kDefaultMaxBytes, machine_bytes());
  return bytes;
}

}  // namespace

MemoryBudget::MemoryBudget(uint64_t max_bytes, const etb_alloc_service* allocator)
    : allocator_(allocator), max_bytes_(max_bytes != 0 ? max_bytes : default_max_bytes()) {}

void* MemoryBudget::allocate_from(const etb_alloc_service* allocator, const char* what, uint64_t nbytes,
                                  uint64_t alignment) noexcept {
  if (allocator == nullptr) {
    // calloc: fresh zero pages cost nothing until their first use. It aligns to 16 bytes, so the caller aligns.
    if (nbytes > SIZE_MAX - alignment) return nullptr;
    return std::calloc(1, static_cast<size_t>(nbytes + alignment));
  }
  if (nbytes > SIZE_MAX) return nullptr;
  void* const memory = allocator->allocate(allocator->ctx, std::max<uint64_t>(nbytes, 1), alignment, what);
  if (memory == nullptr) return nullptr;
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {  // the application broke the service's contract
    allocator->free(allocator->ctx, memory);
    return nullptr;
  }
  std::memset(memory, 0, static_cast<size_t>(nbytes));
  return memory;
}

void MemoryBudget::free_to(const etb_alloc_service* allocator, void* memory) noexcept {
  if (allocator == nullptr)
    std::free(memory);
  else
    allocator->free(allocator->ctx, memory);
}

Status MemoryBudget::take(const char* what, uint64_t nbytes) {
  if (nbytes <= max_bytes_ - used_bytes_) {
    used_bytes_ += nbytes;
    return {};
  }
  return make_error(
      Code::OUT_OF_MEMORY,
      std::string(what) + " of " + std::to_string(nbytes) + " bytes beside " + std::to_string(used_bytes_) +
          " that are allocated: more than the limit max_memory_bytes of " + std::to_string(max_bytes_) +
          "\nhint: raise it (--max-memory, ModuleOptions::limits, etb_module_options) when the program "
          "is trusted");
}

Result<ZeroedBuffer> ZeroedBuffer::make(MemoryBudget& budget, const char* what, uint64_t nbytes,
                                        const etb_alloc_service* allocator) {
  ETB_TRY(budget.take(what, nbytes));
  ZeroedBuffer buffer;
  buffer.allocator_ = allocator;
  buffer.memory_ = MemoryBudget::allocate_from(allocator, what, nbytes, kBoundary);
  if (buffer.memory_ == nullptr) {
    budget.give_back(nbytes);
    return make_error(Code::OUT_OF_MEMORY,
                      std::string(what) + " of " + std::to_string(nbytes) +
                          (allocator == nullptr ? " bytes: the system has no memory left"
                                                : " bytes: its allocator has no memory"));
  }
  const auto address = reinterpret_cast<uintptr_t>(buffer.memory_);
  const size_t lead = (kBoundary - address % kBoundary) % kBoundary;
  buffer.bytes_ = {static_cast<std::byte*>(buffer.memory_) + lead, static_cast<size_t>(nbytes)};
  buffer.budget_ = &budget;
  return buffer;
}

Status Arenas::make(MemoryBudget& budget, std::span<const uint64_t> sizes,
                    std::span<const etb_alloc_service* const> allocators) {
  // Adds up all arenas first, so that a plan beyond the limit allocates nothing.
  uint64_t total = 0;
  for (const uint64_t size : sizes) {
    if (__builtin_add_overflow(total, size, &total) || __builtin_add_overflow(total, kArenaPadding, &total))
      total = UINT64_MAX;
  }
  ETB_TRY(budget.take("a memory plan", total));
  budget.give_back(total);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const etb_alloc_service* const own = i < allocators.size() ? allocators[i] : nullptr;
    ETB_ASSIGN(ZeroedBuffer buffer, ZeroedBuffer::make(budget, ("arena " + std::to_string(i)).c_str(),
                                                       sizes[i] + (own == nullptr ? kArenaPadding : 0),
                                                       own == nullptr ? budget.allocator() : own));
    spans.push_back(buffer.bytes());
    buffers.push_back(std::move(buffer));
  }
  return {};
}

}  // namespace etb::host
