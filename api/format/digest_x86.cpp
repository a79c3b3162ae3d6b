// SHA-256 with the processor's own instructions (Intel SHA extensions): four times the speed of portable code, which matters for
// half a gigabyte of weights.
#include "api/format/digest_x86.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

namespace etb::format {

namespace {

constexpr size_t kBlock = 64;

alignas(16) constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The state in the order of the instructions: a b e f and c d g h, highest word first.
struct State {
  __m128i abef;
  __m128i cdgh;
};

__attribute__((target("sha,sse4.1,ssse3"))) void add_block(State& state, const uint8_t* block) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  const __m128i abef = state.abef, cdgh = state.cdgh;
  __m128i words[4];
  for (int i = 0; i < 4; ++i)
    words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), swap);
  for (int group = 0; group < 16; ++group) {
    const __m128i now = words[group & 3];
    const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants) + group);
    const __m128i sum = _mm_add_epi32(now, constants);
    state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sum);
    state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32(sum, 0x0e));
    if (group >= 12) continue;
    // The four words that take this group's place sixteen words later.
    const __m128i second = words[(group + 1) & 3], third = words[(group + 2) & 3],
                  last = words[(group + 3) & 3];
    __m128i next = _mm_sha256msg1_epu32(now, second);
    next = _mm_add_epi32(next, _mm_alignr_epi8(last, third, 4));
    words[group & 3] = _mm_sha256msg2_epu32(next, last);
  }
  state.abef = _mm_add_epi32(state.abef, abef);
  state.cdgh = _mm_add_epi32(state.cdgh, cdgh);
}

}  // namespace

bool has_sha_instructions() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_leaf = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
  return has_leaf && (b >> 29 & 1) != 0 && __builtin_cpu_supports("sse4.1");
}

__attribute__((target("sha,sse4.1,ssse3"))) void add_sha_blocks(uint32_t* words, const uint8_t* blocks,
                                                                size_t count) noexcept {
  const auto word = [words](int index) { return static_cast<int>(words[index]); };
  State state = {_mm_set_epi32(word(0), word(1), word(4), word(5)),
                 _mm_set_epi32(word(2), word(3), word(6), word(7))};
  for (size_t i = 0; i < count; ++i) add_block(state, blocks + i * kBlock);
  alignas(16) uint32_t abef[4], cdgh[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(abef), state.abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(cdgh), state.cdgh);
  const uint32_t result[8] = {abef[3], abef[2], cdgh[3], cdgh[2], abef[1], abef[0], cdgh[1], cdgh[0]};
  std::memcpy(words, result, sizeof(result));
}

}  // namespace etb::format

#endif
