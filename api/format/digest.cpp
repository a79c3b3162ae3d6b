// SPDX-License-Identifier: Apache-2.0
// SHA-256 by FIPS 180-4.
#include "api/format/digest.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "api/format/digest_blocks.hpp"

namespace etb::format {

namespace {

// The fractional parts of the square roots of the first eight primes (5.3.3).
constexpr uint32_t kFirstWords[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// The message schedule (6.2.2, step 1).
void fill_schedule(const uint8_t* block, uint32_t* out) noexcept {
  for (size_t i = 0; i < 16; ++i) {
    const uint8_t* at = block + 4 * i;
    out[i] = uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
  }
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t near = out[i - 2], far = out[i - 15];
    const uint32_t sigma0 = std::rotr(far, 7) ^ std::rotr(far, 18) ^ far >> 3;
    const uint32_t sigma1 = std::rotr(near, 17) ^ std::rotr(near, 19) ^ near >> 10;
    out[i] = sigma1 + out[i - 7] + sigma0 + out[i - 16];
  }
}

void add_portable_blocks(uint32_t* words, const uint8_t* blocks, size_t count) noexcept {
  for (; count != 0; --count, blocks += 64) {
    uint32_t schedule[64];
    fill_schedule(blocks, schedule);
    uint32_t a = words[0], b = words[1], c = words[2], d = words[3];
    uint32_t e = words[4], f = words[5], g = words[6], h = words[7];
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + schedule[i];
      const uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t changed[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) words[i] += changed[i];
  }
}

void add_blocks(uint32_t* words, const uint8_t* blocks, size_t count) noexcept {
#if defined(__x86_64__)
  static const bool has_instructions = has_sha_instructions();
  if (has_instructions) return add_blocks_with_instructions(words, blocks, count);
#endif
  add_portable_blocks(words, blocks, count);
}

}  // namespace

void add_blocks_without_instructions(uint32_t* words, const uint8_t* blocks, size_t count) noexcept {
  add_portable_blocks(words, blocks, count);
}

// The fractional parts of the cube roots of the first 64 primes (4.2.2).
alignas(16) const uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

Sha256 sha256(std::span<const uint8_t> bytes) noexcept {
  Sha256Sum sum;
  sum.add(bytes);
  return sum.finish();
}

Sha256Sum::Sha256Sum() noexcept { std::memcpy(words_, kFirstWords, sizeof(words_)); }

void Sha256Sum::add(std::span<const uint8_t> bytes) noexcept {
  nbytes_ += bytes.size();
  if (rest_nbytes_ != 0) {
    const size_t taken = std::min(kBlockNbytes - rest_nbytes_, bytes.size());
    if (taken != 0) std::memcpy(rest_ + rest_nbytes_, bytes.data(), taken);
    rest_nbytes_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_nbytes_ < kBlockNbytes) return;
    add_blocks(words_, rest_, 1);
    rest_nbytes_ = 0;
  }
  const size_t whole = bytes.size() / kBlockNbytes;
  add_blocks(words_, bytes.data(), whole);
  bytes = bytes.subspan(whole * kBlockNbytes);
  if (!bytes.empty()) std::memcpy(rest_, bytes.data(), bytes.size());
  rest_nbytes_ = bytes.size();
}

Sha256 Sha256Sum::finish() noexcept {
  // A one bit, zeros up to the last eight bytes of a block, and the length in bits.
  const uint64_t bit_count = nbytes_ * 8;
  uint8_t tail[kBlockNbytes + 8] = {0x80};
  const size_t filled_to = rest_nbytes_ + 9 <= kBlockNbytes ? kBlockNbytes : 2 * kBlockNbytes;
  const size_t length_at = filled_to - rest_nbytes_ - 8;
  for (size_t i = 0; i < 8; ++i) tail[length_at + i] = static_cast<uint8_t>(bit_count >> (56 - 8 * i));
  add({tail, length_at + 8});
  Sha256 digest;
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(words_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

}  // namespace etb::format
