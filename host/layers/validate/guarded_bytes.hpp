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

// Where between its guard pages a copy lies.
enum class Place {
  kAtEnd,    // it ends where the guard begins, but for at most alignment - 1 bytes
  kAtBegin,  // it begins where the other guard ends
};

// Pattern bytes stand before and behind what may be written; with guard pages also pages that record each touch.
class GuardedBytes {
 public:
  // What the other side may do with it, when it gets it.
  GuardedBytes(ValidateOptions::Memory memory, uint64_t nbytes, uint64_t alignment,
               Access access = Access::kWrites, Place place = Place::kAtEnd);
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  // For the other side, and the same bytes for us.
  uint8_t* data() noexcept { return data_; }
  uint8_t* inside() noexcept { return data_ + inside_offset_; }
  uint64_t nbytes() const noexcept { return nbytes_; }

  // From now on a change is a violation (with guard pages: at the moment of the write).
  void seal() noexcept;

  // From now on any touch is one. Without guard pages nothing is seen.
  void close() noexcept;

  // What was done that should not have been, as the end of a sentence: "write 4 bytes behind its end". Each is told
  // once.
  std::optional<std::string> take_damage();

 private:
  std::optional<std::string> describe_fault();
  std::optional<std::string> describe_canary();

  uint8_t* data_ = nullptr;
  intptr_t inside_offset_ = 0;
  uint64_t nbytes_;
  uint64_t front_nbytes_ = 0;  // of pattern, before and behind
  uint64_t back_nbytes_ = 0;
  bool sealed_ = false;
  bool closed_ = false;
  uint64_t sealed_hash_ = 0;
  std::unique_ptr<uint8_t[]> heap_;
  std::unique_ptr<WatchedPages> pages_;
};

// A hash for noticing changes, not for security.
uint64_t hash_bytes(const void* data, uint64_t nbytes) noexcept;

}  // namespace etb::host::validate
