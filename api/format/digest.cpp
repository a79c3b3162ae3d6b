#include "api/format/digest.hpp"

#include <sodium/crypto_hash_sha256.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "api/format/digest_x86.hpp"

namespace etb::format {

namespace {

using Library = crypto_hash_sha256_state;

bool uses_instructions() noexcept {
#if defined(__x86_64__)
  static const bool has_instructions = has_sha_instructions();
  return has_instructions;
#else
  return false;
#endif
}

void add_blocks(uint32_t* words, const uint8_t* blocks, size_t count) noexcept {
#if defined(__x86_64__)
  add_sha_blocks(words, blocks, count);
#else
  static_cast<void>(words), static_cast<void>(blocks), static_cast<void>(count);
#endif
}

// a to h begin as the fractional parts of the square roots of the first eight primes (FIPS 180-4, 5.3.3).
constexpr uint32_t kFirstWords[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

}  // namespace

Sha256 sha256(std::span<const uint8_t> bytes) noexcept {
  Sha256Sum sum;
  sum.add(bytes);
  return sum.finish();
}

Sha256Sum::Sha256Sum() noexcept {
  static_assert(crypto_hash_sha256_BYTES == std::tuple_size_v<Sha256>);
  static_assert(sizeof(Library) <= sizeof(state_) && alignof(Library) <= 16);
  if (uses_instructions()) {
    std::memcpy(state_, kFirstWords, sizeof(kFirstWords));
  } else {
    crypto_hash_sha256_init(::new (static_cast<void*>(state_)) Library);
  }
}

void Sha256Sum::add(std::span<const uint8_t> bytes) noexcept {
  nbytes_ += bytes.size();
  if (uses_instructions()) {
    add_with_instructions(bytes);
  } else {
    crypto_hash_sha256_update(std::launder(reinterpret_cast<Library*>(state_)), bytes.data(), bytes.size());
  }
}

void Sha256Sum::add_with_instructions(std::span<const uint8_t> bytes) noexcept {
  auto* words = reinterpret_cast<uint32_t*>(state_);
  if (rest_nbytes_ != 0) {
    const size_t taken = std::min(kBlockNbytes - rest_nbytes_, bytes.size());
    if (taken != 0) std::memcpy(rest_.data() + rest_nbytes_, bytes.data(), taken);
    rest_nbytes_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_nbytes_ < kBlockNbytes) return;
    add_blocks(words, rest_.data(), 1);
    rest_nbytes_ = 0;
  }
  const size_t whole = bytes.size() / kBlockNbytes;
  add_blocks(words, bytes.data(), whole);
  bytes = bytes.subspan(whole * kBlockNbytes);
  if (!bytes.empty()) std::memcpy(rest_.data(), bytes.data(), bytes.size());
  rest_nbytes_ = bytes.size();
}

Sha256 Sha256Sum::finish() noexcept {
  Sha256 digest;
  if (!uses_instructions()) {
    crypto_hash_sha256_final(std::launder(reinterpret_cast<Library*>(state_)), digest.data());
    return digest;
  }
  // What is left, a one bit, zeros up to the last eight bytes of a block, and the length in bits.
  const uint64_t bit_count = nbytes_ * 8;
  uint8_t tail[kBlockNbytes + 8] = {0x80};
  const size_t zeros_to =
      (rest_nbytes_ + 9 <= kBlockNbytes ? kBlockNbytes : 2 * kBlockNbytes) - rest_nbytes_ - 8;
  for (size_t i = 0; i < 8; ++i) tail[zeros_to + i] = static_cast<uint8_t>(bit_count >> (56 - 8 * i));
  add_with_instructions({tail, zeros_to + 8});
  const auto* words = reinterpret_cast<const uint32_t*>(state_);
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

}  // namespace etb::format
