// SPDX-License-Identifier: Apache-2.0
// Asks for huge pages for large blocks. Weights pass through blocks of some megabytes each, and a system
// provides fresh memory in pages of four kilobytes: page faults were half of the time to compile a ResNet.
// This file replaces the language's allocation functions for the program and for the plugins that it loads;
// memory still comes from malloc.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace {

constexpr size_t kHugeNbytes = size_t{2} << 20;

void* allocate(size_t nbytes) noexcept {
  if (nbytes < kHugeNbytes) return std::malloc(nbytes == 0 ? 1 : nbytes);
  void* data = nullptr;
  if (::posix_memalign(&data, kHugeNbytes, nbytes) != 0) return nullptr;
  // Whole huge pages only, so that no extra memory is used. Systems without them reject the call, which is
  // harmless.
  (void)::madvise(data, nbytes / kHugeNbytes * kHugeNbytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

void* operator new(size_t nbytes) {
  for (;;) {
    if (void* data = allocate(nbytes)) return data;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
