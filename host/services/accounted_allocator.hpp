// alloc/1: host memory counted under one plugin's name, bounded, and reported when it leaks.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "etb/host.h"

namespace etb::host {

class AccountedAllocator {
 public:
  static constexpr uint64_t kUnbounded = UINT64_MAX;

  // Answers NULL to what would bring the live bytes above `cap_bytes`.
  explicit AccountedAllocator(uint64_t cap_bytes = kUnbounded);
  AccountedAllocator(const AccountedAllocator&) = delete;
  AccountedAllocator& operator=(const AccountedAllocator&) = delete;

  // Gives leaked blocks back to the system: whoever held them is deinitialised.
  ~AccountedAllocator();

  const etb_alloc_service* service() const noexcept { return &service_; }

  struct Usage {
    uint64_t live_bytes = 0;  // as asked for, without bookkeeping
    uint64_t peak_bytes = 0;
    uint64_t live_count = 0;
    uint64_t allocate_count = 0;
    uint64_t refused_count = 0;
  };
  Usage usage() const;

  // Live blocks of one tag.
  struct Leak {
    std::string tag;
    uint64_t nbytes = 0;
    uint64_t count = 0;
  };

  // What is live now, most bytes first: after deinit these are leaks (ABI-HYG-03).
  std::vector<Leak> live_blocks() const;

 private:
  struct Block;

  static void* ETB_CALL allocate(void* ctx, uint64_t nbytes, uint64_t alignment, const char* tag);
  static void ETB_CALL free(void* ctx, void* ptr);
  bool reserve(uint64_t nbytes);

  const uint64_t cap_bytes_;
  mutable std::mutex mutex_;
  Block* first_ = nullptr;  // live blocks, newest first
  Usage usage_;
  etb_alloc_service service_{};
};

}  // namespace etb::host
