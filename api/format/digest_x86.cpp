// SHA-256 with the processor's own instructions (Intel SHA extensions): four times the speed of portable code, which matters for
// half a gigabyte of weights.
#include "api/format/digest_blocks.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

namespace etb::format {

namespace {

constexpr size_t kBlock = 64;

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

__attribute__((target("sha,sse4.1,ssse3"))) void add_blocks_with_instructions(uint32_t* words,
                                                                              const uint8_t* blocks,
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
