// Weights pass through blocks of memory of some megabytes each, and a system gives fresh memory in pages of four kilobytes: taking
// them was half of the time in which a ResNet is compiled. So the program asks for huge pages behind large blocks. This replaces
// the language's own allocation functions for it and for the plugins that it loads; memory is malloc's as before.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace {

constexpr size_t kHugeNbytes = size_t{2} << 20;

void* allocate(size_t nbytes) noexcept {
  if (nbytes < kHugeNbytes) return std::malloc(nbytes == 0 ? 1 : nbytes);
  void* data = nullptr;
  if (::posix_memalign(&data, kHugeNbytes, nbytes) != 0) return nullptr;
  // Whole ones only, so that no memory is taken that was not asked for. A system without them refuses, which is no matter.
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
