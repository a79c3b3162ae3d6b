// SHA-256 of bytes, as constants and files are identified by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace etb::format {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::span<const uint8_t> bytes) noexcept;

// The same for bytes that come in pieces. After finish() it is spent.
class Sha256Sum {
 public:
  Sha256Sum() noexcept;
  void add(std::span<const uint8_t> bytes) noexcept;
  Sha256 finish() noexcept;

 private:
  static constexpr size_t kBlockNbytes = 64;

  uint32_t words_[8];
  uint8_t rest_[kBlockNbytes];  // of a block that is not full yet
  size_t rest_nbytes_ = 0;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::format
