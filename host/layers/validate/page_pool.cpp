// SPDX-License-Identifier: Apache-2.0
#include "host/layers/validate/page_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace etb::host::validate {
namespace {

constexpr uint64_t kRestingRanges = 32;                    // ranges of one size, before the first is reused ...
constexpr uint64_t kRestingBytes = uint64_t{8} << 20;      // ... or so many bytes of it
constexpr uint64_t kMaxRestingBytes = uint64_t{64} << 20;  // bytes of all sizes; more are unmapped
constexpr uint64_t kChunkPages = 32;                       // mapped at once

// Maps `count` ranges, or fewer when the system has no more.
std::deque<PageRange> map_ranges(uint64_t nbytes, uint64_t count) {
  std::deque<PageRange> out;
  const uint64_t step = nbytes + 2 * page_nbytes();
  void* const shared =
      ::mmap(nullptr, count * nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* const areas = ::mmap(nullptr, count * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (uint64_t i = 0; i < count && shared != MAP_FAILED && areas != MAP_FAILED; ++i) {
    auto* const inside = static_cast<uint8_t*>(shared) + i * nbytes;
    auto* const area = static_cast<uint8_t*>(areas) + i * step;
    auto* const seen = area + page_nbytes();
    // An old size of 0 maps shared pages a second time.
    if (::mremap(inside, 0, nbytes, MREMAP_MAYMOVE | MREMAP_FIXED, seen) == MAP_FAILED) break;
    protect(seen, nbytes, Access::kNothing);
    out.push_back({area, inside, nbytes});
  }
  if (out.empty() && shared != MAP_FAILED) ::munmap(shared, count * nbytes);
  if (out.empty() && areas != MAP_FAILED) ::munmap(areas, count * step);
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
