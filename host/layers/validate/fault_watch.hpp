// SPDX-License-Identifier: Apache-2.0
// WatchedPages: protected pages. An access is recorded and then allowed, so that the program continues and
// the report can name the call.
#pragma once

#include <atomic>
#include <cstdint>

#include "host/layers/validate/fault_kind.hpp"
#include "host/layers/validate/page_pool.hpp"

namespace etb::host::validate {

// One access to a watched region.
struct Fault {
  uintptr_t address = 0;
  FaultKind kind = FaultKind::kUnknown;
};

// Mapped pages: a guard page, the usable pages, a guard page. Records one access to protected pages. The
// whole region is then readable and writable until it is protected again.
class WatchedPages {
 public:
  // `nbytes` is rounded up to whole pages. Check is_valid: the system may have no memory or no free slot.
  WatchedPages(uint64_t nbytes, Access access);
  WatchedPages(const WatchedPages&) = delete;
  WatchedPages& operator=(const WatchedPages&) = delete;
  ~WatchedPages();

  bool is_valid() const noexcept { return slot_ != nullptr; }
  uint8_t* begin() const noexcept { return range_.area + page_nbytes(); }  // first of the usable pages
  uint8_t* end() const noexcept { return begin() + range_.nbytes; }
  uint8_t* inside() const noexcept { return range_.inside; }  // the layer's own mapping, never protected

  void allow(Access access) noexcept;

  // Returns true and the access recorded since the last call, if there was one.
  bool take_fault(Fault& out_fault) noexcept;

  struct Slot;

 private:
  PageRange range_;
  Access access_ = Access::kNothing;
  Slot* slot_ = nullptr;
};

// Number of accesses recorded in this process: a cheap check for new ones.
uint64_t fault_count() noexcept;

}  // namespace etb::host::validate
