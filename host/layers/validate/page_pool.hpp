// SPDX-License-Identifier: Apache-2.0
// PagePool: mapped pages between two guard pages, reused because mapping and unmapping cost more than all
// the rest of a guarded call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

namespace etb::host::validate {

// Access of the other side to pages.
enum class Access { kNothing, kReads, kWrites };

// The same memory mapped twice: between guards with its present access, and for the layer, always writable.
struct PageRange {
  uint8_t* area = nullptr;  // a guard page, `nbytes` usable bytes, a guard page
  uint8_t* inside = nullptr;
  uint64_t nbytes = 0;
  bool is_valid() const noexcept { return area != nullptr; }
};

uint64_t page_nbytes() noexcept;

// Rounds up to whole pages.
uint64_t whole_pages(uint64_t nbytes) noexcept;

void protect(void* begin, uint64_t nbytes, Access access) noexcept;

class PagePool {
 public:
  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  // Returns pages without access. `nbytes` is a multiple of the page size. Not valid when the system has
  // none.
  PageRange take(uint64_t nbytes);

  // Removes access again, guards included. The pages are quarantined before they are reused, so that a late
  // access still ends the process.
  void give_back(const PageRange& range);

  // Called in a forked process: the quarantined pages also belong to the parent.
  void forget() noexcept { resting_.clear(), resting_nbytes_ = 0; }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::deque<PageRange>> resting_;  // by nbytes, the longest in quarantine first
  uint64_t resting_nbytes_ = 0;
};

}  // namespace etb::host::validate
