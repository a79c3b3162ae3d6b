// SPDX-License-Identifier: Apache-2.0
// GuardedBytes: a copy of bytes for the other side, so that the layer can detect wrong accesses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/layers/validate/fault_watch.hpp"
#include "host/layers/validate/validation.hpp"

namespace etb::host::validate {

// Position of a copy between its guard pages.
enum class GuardSide {
  kAtEnd,    // ends at the second guard, but for at most alignment - 1 bytes
  kAtBegin,  // begins at the end of the first guard
};

// Pattern bytes before and after the writable bytes. With guard pages, also pages that record each access.
class GuardedBytes {
 public:
  // `access` is the access that the other side has at first.
  GuardedBytes(ValidateOptions::Memory memory, uint64_t nbytes, uint64_t alignment,
               Access access = Access::kWrites, GuardSide side = GuardSide::kAtEnd);
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  // Address for the other side, and address of the same bytes for the layer.
  uint8_t* data() noexcept { return data_; }
  uint8_t* inside() noexcept { return data_ + inside_offset_; }
  uint64_t nbytes() const noexcept { return nbytes_; }

  // Makes any later change a violation (with guard pages: detected at the write).
  void seal() noexcept;

  // Makes any later access a violation. Without guard pages it is not detected.
  void close() noexcept;

  // Returns a violation as the end of a sentence: "write 4 bytes after its end". Returns each
  // once. It begins with "access" where the system does not report whether it is a read or a write.
  std::optional<std::string> take_damage();

 private:
  std::optional<std::string> describe_fault();
  std::optional<std::string> describe_canary();

  uint8_t* data_ = nullptr;
  intptr_t inside_offset_ = 0;
  uint64_t nbytes_;
  uint64_t front_nbytes_ = 0;  // bytes of pattern before and after
  uint64_t back_nbytes_ = 0;
  bool sealed_ = false;
  bool closed_ = false;
  uint64_t sealed_hash_ = 0;
  std::unique_ptr<uint8_t[]> heap_;
  std::unique_ptr<WatchedPages> pages_;
};

// Returns a hash that detects changes; not for security.
uint64_t hash_bytes(const void* data, uint64_t nbytes) noexcept;

}  // namespace etb::host::validate
