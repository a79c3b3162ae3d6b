// SPDX-License-Identifier: Apache-2.0
// AccountedAllocator (alloc/1): host memory counted for one plugin, limited, and reported when it leaks.
#pragma once

#include <mutex>

#include "etb/host.h"

namespace etb::host {

class AccountedAllocator {
 public:
  static constexpr uint64_t kUnbounded = UINT64_MAX;

  // Returns NULL for a request that would raise the live bytes above `cap_bytes`.
  explicit AccountedAllocator(uint64_t cap_bytes = kUnbounded);
  AccountedAllocator(const AccountedAllocator&) = delete;
  AccountedAllocator& operator=(const AccountedAllocator&) = delete;

  // Frees leaked blocks: their owner is deinitialised.
  ~AccountedAllocator();

  const etb_alloc_service* service() const noexcept { return &service_; }

  struct Usage {
    uint64_t live_bytes = 0;  // requested bytes, without bookkeeping
    uint64_t peak_bytes = 0;
    uint64_t live_count = 0;
    uint64_t allocate_count = 0;
    uint64_t refused_count = 0;
  };
  Usage usage() const;

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
