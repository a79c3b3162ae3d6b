// SPDX-License-Identifier: Apache-2.0
#include "api/format/content_name.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace etb::format {
namespace {

std::vector<std::byte> random_bytes(size_t nbytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(nbytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(ContentName, IsTheSameForEqualBytesWhereverTheyLie) {
  for (const size_t nbytes : {0, 1, 7, 8, 1023, 1024, 1025, 65536, 65537, 200000}) {
    const std::vector<std::byte> bytes = random_bytes(nbytes, 1);
    std::vector<std::byte> moved(nbytes + 3);
    if (nbytes != 0) std::memcpy(moved.data() + 3, bytes.data(), nbytes);
    const std::string name = content_name(bytes);
    EXPECT_EQ(name.size(), 64u);
    EXPECT_EQ(name, content_name(std::span(moved).subspan(3))) << nbytes;
  }
}

// Files name their data by it, so it must never change.
TEST(ContentName, IsFixed) {
  EXPECT_EQ(content_name({}), "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
  EXPECT_EQ(content_name(random_bytes(3000, 2)),
            "40c0d354841467d6d4e0058ff8568c3b84e6afac8191bb57b44ae0b44034ef66");
}

TEST(ContentName, SeesEveryBit) {
  std::vector<std::byte> bytes = random_bytes(2100, 3);
  std::set<std::string> names = {content_name(bytes)};
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_TRUE(names.insert(content_name(bytes)).second) << "bit " << bit;
    bytes[bit / 8] ^= mask;
  }
}

// Trailing zeros, swapped words and swapped blocks could be missed by sums and padding.
TEST(ContentName, SeesLengthAndOrder) {
  std::set<std::string> names;
  for (size_t nbytes = 0; nbytes < 2100; ++nbytes)
    EXPECT_TRUE(names.insert(content_name(std::vector<std::byte>(nbytes))).second) << nbytes;
  const std::vector<std::byte> bytes = random_bytes(4096, 4);
  const std::string name = content_name(bytes);
  for (const size_t step : {4, 8, 16, 1024, 2048}) {
    for (size_t at = 0; at + 2 * step <= bytes.size(); at += step) {
      std::vector<std::byte> swapped = bytes;
      std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(at),
                       swapped.begin() + static_cast<std::ptrdiff_t>(at + step),
                       swapped.begin() + static_cast<std::ptrdiff_t>(at + step));
      EXPECT_NE(content_name(swapped), name) << "step " << step << " at " << at;
    }
  }
}

}  // namespace
}  // namespace etb::format
