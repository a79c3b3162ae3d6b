// SPDX-License-Identifier: Apache-2.0
// SHA-256 of bytes, which identifies constants and files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace etb::format {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::span<const uint8_t> bytes) noexcept;

// Computes the same digest from pieces. Must not be used after finish().
class Sha256Sum {
 public:
  Sha256Sum() noexcept;
  void add(std::span<const uint8_t> bytes) noexcept;
  Sha256 finish() noexcept;

 private:
  static constexpr size_t kBlockNbytes = 64;

  uint32_t words_[8];
  uint8_t rest_[kBlockNbytes];  // bytes of a block that is not full yet
  size_t rest_nbytes_ = 0;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::format
