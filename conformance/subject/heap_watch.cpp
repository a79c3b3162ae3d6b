// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/heap_watch.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace etb::conformance {
namespace {

std::atomic<size_t> largest{0}, least{SIZE_MAX};

void note(size_t nbytes) {
  if (nbytes < least) return;
  for (size_t known = largest; known < nbytes && !largest.compare_exchange_weak(known, nbytes);) {
  }
}

void* noted_malloc(size_t nbytes) { return note(nbytes), std::malloc(nbytes); }
void* noted_calloc(size_t count, size_t nbytes) { return note(count * nbytes), std::calloc(count, nbytes); }
void* noted_realloc(void* block, size_t nbytes) { return note(nbytes), std::realloc(block, nbytes); }
void* noted_aligned_alloc(size_t alignment, size_t nbytes) {
  return note(nbytes), ::memalign(alignment, nbytes);
}
int noted_posix_memalign(void** out, size_t alignment, size_t nbytes) {
  return note(nbytes), ::posix_memalign(out, alignment, nbytes);
}
void* noted_new(size_t nbytes) { return note(nbytes), ::operator new(nbytes); }
void* noted_nothrow_new(size_t nbytes, const std::nothrow_t& tag) {
  return note(nbytes), ::operator new(nbytes, tag);
}
void* noted_aligned_new(size_t nbytes, std::align_val_t alignment) {
  return note(nbytes), ::operator new(nbytes, alignment);
}
void* noted_aligned_nothrow_new(size_t nbytes, std::align_val_t alignment, const std::nothrow_t& tag) {
  return note(nbytes), ::operator new(nbytes, alignment, tag);
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

// Mangled names of GCC and clang; those of new[] do the same as those of new.
const Import kImports[] = {{"malloc", address_of(noted_malloc)},
                           {"calloc", address_of(noted_calloc)},
                           {"realloc", address_of(noted_realloc)},
                           {"aligned_alloc", address_of(noted_aligned_alloc)},
                           {"memalign", address_of(noted_aligned_alloc)},
                           {"posix_memalign", address_of(noted_posix_memalign)},
                           {"_Znwm", address_of(noted_new)},
                           {"_Znam", address_of(noted_new)},
                           {"_ZnwmRKSt9nothrow_t", address_of(noted_nothrow_new)},
                           {"_ZnamRKSt9nothrow_t", address_of(noted_nothrow_new)},
                           {"_ZnwmSt11align_val_t", address_of(noted_aligned_new)},
                           {"_ZnamSt11align_val_t", address_of(noted_aligned_new)},
                           {"_ZnwmSt11align_val_tRKSt9nothrow_t", address_of(noted_aligned_nothrow_new)},
                           {"_ZnamSt11align_val_tRKSt9nothrow_t", address_of(noted_aligned_nothrow_new)}};

}  // namespace

HeapWatch::HeapWatch(const void* symbol, size_t least_bytes) : patch_(symbol, kImports) {
  largest = 0;
  least = least_bytes;
}

HeapWatch::~HeapWatch() { least = SIZE_MAX; }

size_t HeapWatch::take_largest() { return largest.exchange(0); }

}  // namespace etb::conformance
