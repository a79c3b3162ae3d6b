// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/page_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace etb::host::validate {
namespace {

constexpr uint64_t kRestingRanges = 32;                // ranges of one size, before the first is reused ...
constexpr uint64_t kRestingBytes = uint64_t{8} << 20;  // ... or so many bytes of it
constexpr uint64_t kMaxRestingBytes = uint64_t{64} << 20;  // bytes of all sizes; more are unmapped
constexpr uint64_t kChunkPages = 32;                       // mapped at once

// True if mremap with an old size of 0 maps shared memory a second time. Emulators of processors have no such call
// (QEMU 7.2).
bool can_map_twice() {
  const uint64_t nbytes = page_nbytes();
  void* const first = ::mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (first == MAP_FAILED) return true;
  void* const second = ::mremap(first, 0, nbytes, MREMAP_MAYMOVE);
  if (second != MAP_FAILED) ::munmap(second, nbytes);
  ::munmap(first, nbytes);
  return second != MAP_FAILED;
}

// Maps `count` ranges, or fewer when the system has no more. `file` has the bytes of all, or is -1 for memory without a file.
std::deque<PageRange> map_ranges(uint64_t nbytes, uint64_t count, int file) {
  std::deque<PageRange> out;
  const uint64_t step = nbytes + 2 * page_nbytes();
  const int kind = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* const shared = ::mmap(nullptr, count * nbytes, PROT_READ | PROT_WRITE, kind, file, 0);
  void* const areas = ::mmap(nullptr, count * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (uint64_t i = 0; i < count && shared != MAP_FAILED && areas != MAP_FAILED; ++i) {
    auto* const inside = static_cast<uint8_t*>(shared) + i * nbytes;
    auto* const area = static_cast<uint8_t*>(areas) + i * step;
    auto* const seen = area + page_nbytes();
    void* const mapped = file < 0 ? ::mremap(inside, 0, nbytes, MREMAP_MAYMOVE | MREMAP_FIXED, seen)
                                  : ::mmap(seen, nbytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file,
                                           static_cast<off_t>(i * nbytes));
    if (mapped == MAP_FAILED) break;
    protect(seen, nbytes, Access::kNothing);
    out.push_back({area, inside, nbytes});
  }
  if (out.empty() && shared != MAP_FAILED) ::munmap(shared, count * nbytes);
  if (out.empty() && areas != MAP_FAILED) ::munmap(areas, count * step);
  return out;
}

// Prefers memory without a file, because limits of a process on the size and number of files do not count for it.
std::deque<PageRange> map_ranges(uint64_t nbytes, uint64_t count) {
  static const bool needs_file = !can_map_twice();
  if (!needs_file) return map_ranges(nbytes, count, -1);
  std::deque<PageRange> out;
  const int file = ::memfd_create("etbackend-guarded", MFD_CLOEXEC);
  if (file < 0) return out;
  if (::ftruncate(file, static_cast<off_t>(count * nbytes)) == 0) out = map_ranges(nbytes, count, file);
  ::close(file);
  return out;
}

void unmap(const PageRange& range) {
  ::munmap(range.area, range.nbytes + 2 * page_nbytes());
  ::munmap(range.inside, range.nbytes);
}

}  // namespace

uint64_t page_nbytes() noexcept {
  static const auto nbytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return nbytes;
}

uint64_t whole_pages(uint64_t nbytes) noexcept {
  return (nbytes + page_nbytes() - 1) / page_nbytes() * page_nbytes();
}

void protect(void* begin, uint64_t nbytes, Access access) noexcept {
  constexpr int kBits[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
  ::mprotect(begin, nbytes, kBits[static_cast<size_t>(access)]);
}

PagePool::~PagePool() {
  for (const auto& [nbytes, ranges] : resting_)
    for (const PageRange& range : ranges) unmap(range);
}

PageRange PagePool::take(uint64_t nbytes) {
  const std::lock_guard lock(mutex_);
  std::deque<PageRange>& ranges = resting_[nbytes];
  if (ranges.size() <= std::min(kRestingRanges, kRestingBytes / nbytes)) {
    const uint64_t count = std::max<uint64_t>(1, kChunkPages * page_nbytes() / nbytes);
    for (const PageRange& range : map_ranges(nbytes, count)) {
      ranges.push_front(range);  // new ranges need no quarantine
      resting_nbytes_ += nbytes;
    }
  }
  if (ranges.empty()) return {};
  const PageRange range = ranges.front();
  ranges.pop_front();
  resting_nbytes_ -= nbytes;
  return range;
}

void PagePool::give_back(const PageRange& range) {
  const std::lock_guard lock(mutex_);
  if (resting_nbytes_ + range.nbytes > kMaxRestingBytes) return unmap(range);
  resting_[range.nbytes].push_back(range);
  resting_nbytes_ += range.nbytes;
}

}  // namespace etb::host::validate
