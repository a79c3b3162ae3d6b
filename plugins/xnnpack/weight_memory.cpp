#include "plugins/xnnpack/weight_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <xnnpack.h>

#include <algorithm>
#include <cstdint>

namespace etb::xnnpack {

namespace {

constexpr size_t kAlignment = 128;  // of what XNNPACK packs
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kRegionNbytes = size_t{256} << 20;  // of addresses; memory is what was touched
// What comes first in a region has pages of the usual size: to a small network a huge page would be much.
constexpr size_t kSmallNbytes = size_t{512} << 10;
constexpr size_t kStepNbytes = size_t{64} << 10;  // small pages that are touched at once

size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

size_t page_nbytes() {
  static const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return kPage;
}

}  // namespace

struct WeightMemory::Region {
  std::byte* first = nullptr;
  size_t nbytes = 0, used = 0, touched = 0, trimmed = 0;

  explicit Region(size_t wanted) {
    void* const mapped = ::mmap(nullptr, wanted + kHugePage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    auto* const begin = static_cast<std::byte*>(mapped);
    const auto boundary = reinterpret_cast<uintptr_t>(begin) + kSmallNbytes;
    first = begin + (kHugePage - boundary % kHugePage) % kHugePage;
    nbytes = wanted;
    if (first != begin) ::munmap(begin, static_cast<size_t>(first - begin));
    if (std::byte* const end = first + nbytes; end != begin + wanted + kHugePage)
      ::munmap(end, static_cast<size_t>(begin + wanted + kHugePage - end));
#ifdef MADV_HUGEPAGE
    if (nbytes > kSmallNbytes) ::madvise(first + kSmallNbytes, nbytes - kSmallNbytes, MADV_HUGEPAGE);
#endif
  }
  ~Region() {
    if (first != nullptr) ::munmap(first, nbytes);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // The next piece, NULL when it does not fit.
  std::byte* take(size_t wanted) {
    if (first == nullptr || wanted > nbytes - used) return nullptr;
    std::byte* const piece = first + used;
    used += wanted;
#ifdef MADV_POPULATE_WRITE
    if (const size_t end = std::min({round_up(used, kStepNbytes), kSmallNbytes, nbytes}); end > touched) {
      ::madvise(first + touched / kStepNbytes * kStepNbytes, end - touched / kStepNbytes * kStepNbytes,
                MADV_POPULATE_WRITE);  // else each page costs a fault
      touched = end;
    }
#endif
    return piece;
  }

  // Gives the pages back that lie wholly in a range.
  void give_back(size_t begin, size_t end) const {
    begin = round_up(begin, page_nbytes());
    end = end / page_nbytes() * page_nbytes();
    if (begin < end) ::madvise(first + begin, end - begin, MADV_DONTNEED);
  }

  // What lies behind the last piece, to the end of its huge page. The kernel would fill that page again within seconds.
  void trim() {
    if (trimmed == used) return;  // asked each time sizes change
    trimmed = used;
    const size_t huge_end = kSmallNbytes + round_up(used > kSmallNbytes ? used - kSmallNbytes : 0, kHugePage);
    const size_t end = std::min(huge_end, nbytes), begin = round_up(used, page_nbytes());
#ifdef MADV_NOHUGEPAGE
    if (begin < end && used > kSmallNbytes) ::madvise(first + begin, end - begin, MADV_NOHUGEPAGE);
#endif
    give_back(begin, end);
    touched = used;
  }
};

std::shared_ptr<void> WeightMemory::allocate(size_t nbytes) {
  if (nbytes > SIZE_MAX / 2) return nullptr;
  const size_t wanted = round_up(nbytes + XNN_EXTRA_BYTES, kAlignment);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Region> region = region_.lock();
  std::byte* piece = region ? region->take(wanted) : nullptr;
  if (piece == nullptr) {
    // A system that counts addresses as memory may refuse a whole region.
    for (const size_t size :
         {std::max(kRegionNbytes, round_up(wanted, kHugePage)), round_up(wanted, kStepNbytes)}) {
      region = std::make_shared<Region>(size);
      if ((piece = region->take(wanted)) != nullptr) break;
    }
    if (piece == nullptr) return nullptr;
    region_ = region;
  }
  return {piece, [region, wanted](void* given) {
            const auto begin = static_cast<size_t>(static_cast<std::byte*>(given) - region->first);
            region->give_back(begin, begin + wanted);
          }};
}

void WeightMemory::trim() {
  const std::lock_guard lock(mutex_);
  if (const std::shared_ptr<Region> region = region_.lock()) region->trim();
}

}  // namespace etb::xnnpack
