// A copy of bytes that the other side gets instead of the real ones, so that what it does to them can be seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/layers/validate/fault_watch.hpp"
#include "host/layers/validate/validation.hpp"

namespace etb::host::validate {

// Pattern bytes stand before and behind the copy; with guard pages also pages that record each touch. The copy ends where
// its guard begins, but for at most alignment - 1 pattern bytes.
class GuardedBytes {
 public:
  GuardedBytes(ValidateOptions::Memory memory, uint64_t nbytes, uint64_t alignment);
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  uint8_t* data() noexcept { return data_; }
  uint64_t nbytes() const noexcept { return nbytes_; }

  // From now on a change is a violation (with guard pages: at the moment of the write).
  void seal() noexcept;

  // From now on any touch is one. Without guard pages nothing is seen.
  void close() noexcept;

  // What was done that should not have been, as the end of a sentence: "write 4 bytes behind its end". Each is told
  // once.
  std::optional<std::string> take_damage();

 private:
  std::optional<std::string> describe_fault() noexcept(false);
  std::optional<std::string> describe_canary();

  uint8_t* data_ = nullptr;
  uint64_t nbytes_;
  uint8_t* front_ = nullptr;  // [front_, data_) and [data_ + nbytes_, back_) hold the pattern
  uint8_t* back_ = nullptr;
  bool sealed_ = false;
  bool closed_ = false;
  uint64_t sealed_hash_ = 0;
  std::unique_ptr<uint8_t[]> heap_;
  std::unique_ptr<WatchedPages> pages_;
};

// A hash for noticing changes, not for security.
uint64_t hash_bytes(const void* data, uint64_t nbytes) noexcept;

}  // namespace etb::host::validate
