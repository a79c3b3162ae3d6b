// Pages that must not be touched: a touch is recorded and let through, so that the program goes on and the call that
// touched can be named.
#pragma once

#include <atomic>
#include <cstdint>

#include "host/layers/validate/page_pool.hpp"

namespace etb::host::validate {

// One touch of a watched region.
struct Fault {
  uintptr_t address = 0;
  bool is_write = false;
};

// Mapped pages: a guard page, the pages for use, a guard page. A touch of what is protected is recorded once; the whole
// region is then readable and writable until it is protected again.
class WatchedPages {
 public:
  // `nbytes` for use, rounded up to whole pages. Check is_valid: the system may have no memory or no free slot.
  WatchedPages(uint64_t nbytes, Access access);
  WatchedPages(const WatchedPages&) = delete;
  WatchedPages& operator=(const WatchedPages&) = delete;
  ~WatchedPages();

  bool is_valid() const noexcept { return slot_ != nullptr; }
  uint8_t* begin() const noexcept { return range_.area + page_nbytes(); }  // of the pages for use
  uint8_t* end() const noexcept { return begin() + range_.nbytes; }
  uint8_t* inside() const noexcept { return range_.inside; }  // the same pages for us: never watched

  void allow(Access access) noexcept;

  // The touch that was recorded since the last time, if there was one.
  bool take_fault(Fault& out_fault) noexcept;

  struct Slot;

 private:
  PageRange range_;
  Access access_ = Access::kNothing;
  Slot* slot_ = nullptr;
};

// How many touches were recorded in this process: a cheap way to see that there is something new.
uint64_t fault_count() noexcept;

}  // namespace etb::host::validate
