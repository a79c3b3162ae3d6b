// SPDX-License-Identifier: Apache-2.0
#include "host/services/counting_new.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

// A file of its own: where g++ inlines only one of new and delete, it warns of a mismatch of malloc and
// delete.
namespace {

std::atomic<uint64_t> count{0};

}  // namespace

void* operator new(size_t nbytes, const std::nothrow_t&) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(nbytes == 0 ? 1 : nbytes);
}
void* operator new(size_t nbytes) {
  if (void* const ptr = operator new(nbytes, std::nothrow)) return ptr;
  throw std::bad_alloc();
}
void operator delete(void* ptr) noexcept { std::free(ptr); }
void operator delete(void* ptr, size_t) noexcept { std::free(ptr); }

uint64_t etb::host::new_count() noexcept { return count.load(std::memory_order_relaxed); }
