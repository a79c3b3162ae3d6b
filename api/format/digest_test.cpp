// SPDX-License-Identifier: Apache-2.0
#include "api/format/digest.hpp"

#include <gtest/gtest.h>
#include <sodium/crypto_hash_sha256.h>

#include <algorithm>
#include <random>
#include <vector>

#include "api/format/digest_blocks.hpp"

namespace etb::format {
namespace {

// FIPS 180-4, the example of one block.
TEST(Digest, OfAbc) {
  const uint8_t abc[] = {'a', 'b', 'c'};
  const Sha256 wanted = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                         0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                         0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
  EXPECT_EQ(sha256(abc), wanted);
}

// Every length around the ends of blocks, with either code.
TEST(Digest, IsThatOfLibsodium) {
  constexpr uint32_t kSeed = 5;
  std::mt19937 random(kSeed);
  std::vector<uint8_t> bytes(300);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (size_t nbytes = 0; nbytes <= bytes.size(); ++nbytes) {
    Sha256 wanted;
    crypto_hash_sha256(wanted.data(), bytes.data(), nbytes);
    EXPECT_EQ(sha256({bytes.data(), nbytes}), wanted) << nbytes << " bytes, seed " << kSeed;
  }
}

#if defined(__x86_64__)
TEST(Digest, IsTheSameWithAndWithoutInstructions) {
  if (!has_sha_instructions()) GTEST_SKIP() << "this processor has none";
  constexpr uint32_t kSeed = 7;
  std::mt19937 random(kSeed);
  std::vector<uint8_t> blocks(64 * 20);
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
  for (size_t count = 0; count <= 20; ++count) {
    std::array<uint32_t, 8> with = {1, 2, 3, 4, 5, 6, 7, 8}, without = with;
    add_blocks_with_instructions(with.data(), blocks.data(), count);
    add_blocks_without_instructions(without.data(), blocks.data(), count);
    EXPECT_EQ(with, without) << count << " blocks, seed " << kSeed;
  }
}
#endif

TEST(Digest, OfPiecesIsThatOfTheWhole) {
  constexpr uint32_t kSeed = 6;
  std::mt19937 random(kSeed);
  std::vector<uint8_t> bytes(4000);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (int round = 0; round < 200; ++round) {
    Sha256Sum sum;
    for (size_t at = 0; at < bytes.size();) {
      const size_t nbytes = std::min<size_t>(random() % 200, bytes.size() - at);  // 0 too
      sum.add(std::span(bytes).subspan(at, nbytes));
      at += nbytes;
    }
    ASSERT_EQ(sum.finish(), sha256(bytes)) << "round " << round << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace etb::format
