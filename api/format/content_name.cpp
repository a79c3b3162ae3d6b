// SPDX-License-Identifier: Apache-2.0
#include "api/format/content_name.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "api/format/digest.hpp"
#include "api/format/hex.hpp"

namespace etb::format {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr size_t kBlockNbytes = 1024;
constexpr size_t kBlockWords = kBlockNbytes / sizeof(uint64_t);

// Any numbers without a pattern suffice. These are the output of SplitMix64 from 0 on. The second sum uses
// them shifted by one pair.
constexpr std::array<uint64_t, kBlockWords + 2> kNumbers = [] {
  std::array<uint64_t, kBlockWords + 2> numbers{};
  uint64_t state = 0;
  for (uint64_t& number : numbers) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    number = mixed ^ mixed >> 31;
  }
  return numbers;
}();

struct Sums {
  Wide first = 0, second = 0;
};
static_assert(sizeof(Sums) == 32);

Sums reduce(const std::byte* block) {
  Sums sums;
  for (size_t i = 0; i < kBlockWords; i += 2) {
    uint64_t pair[2];
    std::memcpy(pair, block + i * sizeof(uint64_t), sizeof pair);
    sums.first += static_cast<Wide>(pair[0] + kNumbers[i]) * (pair[1] + kNumbers[i + 1]);
    sums.second += static_cast<Wide>(pair[0] + kNumbers[i + 2]) * (pair[1] + kNumbers[i + 3]);
  }
  return sums;
}

}  // namespace

std::string content_name(std::span<const std::byte> bytes) {
  Sha256Sum outer;
  const auto add = [&](const void* data, size_t nbytes) {
    outer.add({static_cast<const uint8_t*>(data), nbytes});
  };
  // Adds many sums to SHA-256 at once.
  std::array<Sums, 64> gathered;
  size_t count = 0;
  const auto add_block = [&](const std::byte* block) {
    gathered[count++] = reduce(block);
    if (count < gathered.size()) return;
    add(gathered.data(), sizeof gathered);
    count = 0;
  };
  const size_t whole = bytes.size() / kBlockNbytes * kBlockNbytes;
  for (size_t at = 0; at < whole; at += kBlockNbytes) add_block(bytes.data() + at);
  if (whole != bytes.size()) {
    std::array<std::byte, kBlockNbytes> last{};  // zero padding; the length distinguishes it from content
    std::memcpy(last.data(), bytes.data() + whole, bytes.size() - whole);
    add_block(last.data());
  }
  add(gathered.data(), count * sizeof(Sums));
  const uint64_t nbytes = bytes.size();
  add(&nbytes, sizeof nbytes);
  return to_hex(outer.finish());
}

}  // namespace etb::format
