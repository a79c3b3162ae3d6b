// SPDX-License-Identifier: Apache-2.0
#include "host/services/accounted_allocator.hpp"

#include <algorithm>
#include <cstdlib>

namespace etb::host {

// Header stored directly before the bytes that the plugin receives.
struct AccountedAllocator::Block {
  Block* newer;
  Block* older;
  void* storage;
  uint64_t nbytes;
};

namespace {

constexpr uint64_t kMaxAlignment = uint64_t{1} << 30;  // a plausible bound: the largest huge page is 1 GiB

bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

AccountedAllocator::AccountedAllocator(uint64_t cap_bytes) : cap_bytes_(cap_bytes) {
  service_.struct_size = sizeof(service_);
  service_.ctx = this;
  service_.allocate = &AccountedAllocator::allocate;
  service_.free = &AccountedAllocator::free;
}

AccountedAllocator::~AccountedAllocator() {
  while (first_ != nullptr) {
    Block* const block = first_;
    first_ = block->older;
    std::free(block->storage);
  }
}

// Adds nbytes to the live bytes, or counts a failed request.
bool AccountedAllocator::reserve(uint64_t nbytes) {
  const std::lock_guard lock(mutex_);
  if (nbytes > cap_bytes_ || usage_.live_bytes > cap_bytes_ - nbytes) {
    ++usage_.refused_count;
    return false;
  }
  usage_.live_bytes += nbytes;
  usage_.peak_bytes = std::max(usage_.peak_bytes, usage_.live_bytes);
  ++usage_.live_count;
  ++usage_.allocate_count;
  return true;
}

void* ETB_CALL AccountedAllocator::allocate(void* ctx, uint64_t nbytes, uint64_t alignment,
                                            const char* /*tag*/) {
  auto& self = *static_cast<AccountedAllocator*>(ctx);
  if (!is_power_of_two(alignment) || alignment > kMaxAlignment) return nullptr;
  alignment = std::max<uint64_t>(alignment, alignof(Block));
  const uint64_t overhead = sizeof(Block) + alignment;
  if (nbytes > SIZE_MAX - overhead || !self.reserve(nbytes)) return nullptr;
  void* const storage = std::malloc(static_cast<size_t>(nbytes + overhead));
  if (storage == nullptr) {
    const std::lock_guard lock(self.mutex_);
    self.usage_.live_bytes -= nbytes;
    --self.usage_.live_count;
    --self.usage_.allocate_count;
    ++self.usage_.refused_count;
    return nullptr;
  }
  const auto address = reinterpret_cast<uintptr_t>(storage) + sizeof(Block);
  const auto aligned = (address + alignment - 1) / alignment * alignment;
  auto* const block = reinterpret_cast<Block*>(aligned) - 1;
  block->storage = storage;
  block->nbytes = nbytes;
  block->newer = nullptr;
  const std::lock_guard lock(self.mutex_);
  block->older = self.first_;
  if (self.first_ != nullptr) self.first_->newer = block;
  self.first_ = block;
  return block + 1;
}

void ETB_CALL AccountedAllocator::free(void* ctx, void* ptr) {
  if (ptr == nullptr) return;
  auto& self = *static_cast<AccountedAllocator*>(ctx);
  Block* const block = static_cast<Block*>(ptr) - 1;
  void* const storage = block->storage;
  {
    const std::lock_guard lock(self.mutex_);
    (block->newer != nullptr ? block->newer->older : self.first_) = block->older;
    if (block->older != nullptr) block->older->newer = block->newer;
    self.usage_.live_bytes -= block->nbytes;
    --self.usage_.live_count;
  }
  std::free(storage);
}

AccountedAllocator::Usage AccountedAllocator::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

}  // namespace etb::host
