// SPDX-License-Identifier: Apache-2.0
// EndSignal: a descriptor that becomes readable when a run has ended.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace etb::host {

// Set and cleared by two threads, one after the other. Does not use the heap.
class EndSignal {
 public:
  EndSignal() = default;
  EndSignal(const EndSignal&) = delete;
  EndSignal& operator=(const EndSignal&) = delete;
  ~EndSignal() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Returns false if the process has no descriptor left.
  bool open() noexcept {
    if (descriptor_ < 0) descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor_ >= 0;
  }
  // -1 before open().
  int descriptor() const noexcept { return descriptor_; }

  void set() noexcept {
    if (descriptor_ >= 0) set(descriptor_);
  }
  static void set(int descriptor) noexcept {
    const uint64_t one = 1;
    (void)!::write(descriptor, &one, sizeof one);
  }
  void clear() noexcept {
    uint64_t count = 0;
    if (descriptor_ >= 0) (void)!::read(descriptor_, &count, sizeof count);
  }

 private:
  int descriptor_ = -1;
};

}  // namespace etb::host
