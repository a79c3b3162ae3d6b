// SHA-256 of bytes, as constants and files are identified by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etb::format {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::span<const uint8_t> bytes) noexcept;

// One digest for each, in order. Two are computed side by side: each round of SHA-256 waits for the one before, so a processor with
// instructions for it is half idle over one text.
std::vector<Sha256> sha256_each(std::span<const std::span<const uint8_t>> texts);

// The same for bytes that come in pieces. After finish() it is spent.
class Sha256Sum {
 public:
  Sha256Sum() noexcept;
  void add(std::span<const uint8_t> bytes) noexcept;
  Sha256 finish() noexcept;

 private:
  friend class PairwiseSums;
  static constexpr size_t kBlockNbytes = 64;

  uint32_t words_[8];
  uint8_t rest_[kBlockNbytes];  // of a block that is not full yet
  size_t rest_nbytes_ = 0;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::format
