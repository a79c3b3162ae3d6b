// Mapped pages between two guard pages, kept and used again: mapping and unmapping costs more than all the rest of a guarded call.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

namespace etb::host::validate {

// What the other side may do with pages.
enum class Access { kNothing, kReads, kWrites };

// The same memory twice: once between guards, with the access that it has at the moment, and once for us, always writable.
struct PageRange {
  uint8_t* area = nullptr;  // a guard page, `nbytes` for use, a guard page
  uint8_t* inside = nullptr;
  uint64_t nbytes = 0;
  bool is_valid() const noexcept { return area != nullptr; }
};

uint64_t page_nbytes() noexcept;

// Whole pages for at least this many bytes.
uint64_t whole_pages(uint64_t nbytes) noexcept;

void protect(void* begin, uint64_t nbytes, Access access) noexcept;

class PagePool {
 public:
  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  // Without access. `nbytes` is of whole pages. Not valid where the system has none.
  PageRange take(uint64_t nbytes);

  // Without access again, guards included. Such pages rest before they are given out again, so that a late touch still ends the process.
  void give_back(const PageRange& range);

  // In a forked process: the pages that rest are the parent's, too.
  void forget() noexcept { resting_.clear(), resting_nbytes_ = 0; }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::deque<PageRange>> resting_;  // by nbytes, those that rest longest first
  uint64_t resting_nbytes_ = 0;
};

}  // namespace etb::host::validate
