// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/weight_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <xnnpack.h>

#include <algorithm>
#include <atomic>
#include <ctime>

namespace etb::xnnpack {

namespace {

constexpr size_t kAlignment = 128;  // alignment of XNNPACK's packed weights
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kRegionNbytes = size_t{256} << 20;  // address space; memory is used on first touch
// The start of a region uses pages of the usual size: a huge page would waste memory for a small network.
constexpr size_t kSmallNbytes = size_t{512} << 10;
constexpr size_t kStepNbytes = size_t{64} << 10;      // small pages touched at once
constexpr size_t kLargeStepNbytes = size_t{1} << 20;  // the same after a slow huge page
// Clearing a huge page takes 0.2 ms. In a virtual machine whose host had to allocate the memory first, it
// took 2.4 to 10 ms.
constexpr uint64_t kSlowNs = 1500000;

size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

size_t page_nbytes() {
  static const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return kPage;
}

}  // namespace

struct WeightMemory::Region {
  std::byte* first = nullptr;
  size_t nbytes = 0, used = 0, touched = 0, trimmed = 0;
  std::atomic<size_t> slow_from{0};  // offset where small pages begin again, 0: none

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

  // Returns the next piece, or NULL if it does not fit, and the range that the caller must touch.
  std::byte* take(size_t wanted, size_t& out_begin, size_t& out_end) {
    if (first == nullptr || wanted > nbytes - used) return nullptr;
    std::byte* const piece = first + used;
    used += wanted;
    size_t end = round_up(used, kStepNbytes);
    if (used > kSmallNbytes)
      end = slow_from != 0 ? round_up(used, kLargeStepNbytes)
                           : kSmallNbytes + round_up(used - kSmallNbytes, kHugePage);
    out_begin = touched / page_nbytes() * page_nbytes();
    out_end = std::max(out_begin, std::min(end, nbytes));
    touched = std::max(touched, out_end);
    return piece;
  }

  // Populates the pages of a range, to avoid one fault for each later. Other threads may write there
  // meanwhile.
  void touch([[maybe_unused]] size_t begin, [[maybe_unused]] size_t end, [[maybe_unused]] CpuClock cpu_ns) {
#ifdef MADV_POPULATE_WRITE
    while (begin < end) {
      const bool is_timed = begin >= kSmallNbytes && slow_from == 0;
      const size_t stop = begin < kSmallNbytes
                              ? std::min(end, kSmallNbytes)
                              : std::min(end, begin + (is_timed ? kHugePage : kLargeStepNbytes));
      const uint64_t before = is_timed ? cpu_ns() : 0;
      ::madvise(first + begin, stop - begin, MADV_POPULATE_WRITE);
      if (is_timed && stop - begin == kHugePage && cpu_ns() - before > kSlowNs) use_small_pages(stop);
      begin = stop;
    }
#endif
  }

  void use_small_pages(size_t from) {
    size_t none = 0;
    if (from >= nbytes || !slow_from.compare_exchange_strong(none, from)) return;
#ifdef MADV_NOHUGEPAGE
    ::madvise(first + from, nbytes - from, MADV_NOHUGEPAGE);
#endif
  }

  // Returns the whole pages within a range to the system.
  void give_back(size_t begin, size_t end) const {
    begin = round_up(begin, page_nbytes());
    end = end / page_nbytes() * page_nbytes();
    if (begin < end) ::madvise(first + begin, end - begin, MADV_DONTNEED);
  }

  // Releases memory after the last piece, to the end of its huge page. The kernel would refill that page
  // within seconds.
  void trim() {
    if (trimmed == used) return;  // called each time sizes change
    trimmed = used;
    const size_t huge_end = kSmallNbytes + round_up(used > kSmallNbytes ? used - kSmallNbytes : 0, kHugePage);
    const size_t end = std::min(huge_end, nbytes), begin = round_up(used, page_nbytes());
#ifdef MADV_HUGEPAGE
    // Runs are 10% faster on huge pages. The kernel may build them from the existing pages, in the
    // background.
    if (const size_t from = slow_from; from != 0 && from < begin)
      ::madvise(first + from, begin - from, MADV_HUGEPAGE);
#endif
#ifdef MADV_NOHUGEPAGE
    if (begin < end && used > kSmallNbytes) ::madvise(first + begin, end - begin, MADV_NOHUGEPAGE);
#endif
    give_back(begin, end);
    touched = used;
  }
};

uint64_t WeightMemory::thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

std::byte* WeightMemory::take(size_t wanted, std::shared_ptr<Region>& out_region, size_t& out_begin,
                              size_t& out_end) {
  const std::lock_guard lock(mutex_);
  out_region = region_.lock();
  if (out_region) {
    if (std::byte* const piece = out_region->take(wanted, out_begin, out_end)) return piece;
  }
  // A system that counts reserved addresses as memory may reject a whole region.
  for (const size_t size :
       {std::max(kRegionNbytes, round_up(wanted, kHugePage)), round_up(wanted, kStepNbytes)}) {
    out_region = std::make_shared<Region>(size);
    if (std::byte* const piece = out_region->take(wanted, out_begin, out_end))
      return region_ = out_region, piece;
  }
  return nullptr;
}

std::shared_ptr<void> WeightMemory::allocate(size_t nbytes) {
  if (nbytes > SIZE_MAX / 2) return nullptr;
  const size_t wanted = round_up(nbytes + XNN_EXTRA_BYTES, kAlignment);
  size_t begin = 0, end = 0;
  std::shared_ptr<Region> region;
  std::byte* const piece = take(wanted, region, begin, end);
  if (piece == nullptr) return nullptr;
  region->touch(begin, end, cpu_ns_);
  return {piece, [region, wanted](void* given) {
            const auto from = static_cast<size_t>(static_cast<std::byte*>(given) - region->first);
            region->give_back(from, from + wanted);
          }};
}

void WeightMemory::trim() {
  const std::lock_guard lock(mutex_);
  if (const std::shared_ptr<Region> region = region_.lock()) region->trim();
}

}  // namespace etb::xnnpack
