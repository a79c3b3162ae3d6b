// SPDX-License-Identifier: Apache-2.0
// For tests that must not use the heap: counts every call of the allocator in this process. One test
// program includes it in one source file. Where ETB_COUNTS_HEAP is 0 the allocator belongs to a
// sanitizer and nothing is counted.
#pragma once

#include <atomic>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ETB_COUNTS_HEAP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ETB_COUNTS_HEAP 0
#endif
#endif
#ifndef ETB_COUNTS_HEAP
#define ETB_COUNTS_HEAP 1
#endif

#if ETB_COUNTS_HEAP
namespace etb::host {
inline std::atomic<int> heap_calls{0};
}

// glibc's allocator under the names that it exports for interposers. Every allocation of
// this process calls them.
extern "C" {
void* __libc_malloc(size_t nbytes);                     // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t nbytes);       // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t nbytes);      // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t boundary, size_t nbytes);  // NOLINT(bugprone-reserved-identifier)
void* malloc(size_t nbytes) { return ++etb::host::heap_calls, __libc_malloc(nbytes); }
void* calloc(size_t count, size_t nbytes) { return ++etb::host::heap_calls, __libc_calloc(count, nbytes); }
void* realloc(void* memory, size_t nbytes) { return ++etb::host::heap_calls, __libc_realloc(memory, nbytes); }
void* memalign(size_t boundary, size_t nbytes) {
  return ++etb::host::heap_calls, __libc_memalign(boundary, nbytes);
}
void* aligned_alloc(size_t boundary, size_t nbytes) { return memalign(boundary, nbytes); }
int posix_memalign(void** out, size_t boundary, size_t nbytes) {
  *out = memalign(boundary, nbytes);
  return *out == nullptr ? 12 : 0;  // ENOMEM
}
}
#endif
