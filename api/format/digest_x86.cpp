// SPDX-License-Identifier: Apache-2.0
// SHA-256 with the processor's instructions (Intel SHA extensions): four times as fast as portable code,
// which matters for half a gigabyte of weights.
#include "api/format/digest_blocks.hpp"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

namespace etb::format {

namespace {

constexpr size_t kBlock = 64;

// The state in the instructions' order: a b e f and c d g h, highest word first.
struct State {
  __m128i abef;
  __m128i cdgh;
};

#define ETB_SHA_INSTRUCTIONS __attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline

// State and words of a block during the rounds.
struct Rounds {
  State state;
  __m128i words[4];
};

ETB_SHA_INSTRUCTIONS void begin(Rounds& rounds, const State& state, const uint8_t* block) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  rounds.state = state;
  for (int i = 0; i < 4; ++i)
    rounds.words[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block) + i), swap);
}

template <int kGroup>
ETB_SHA_INSTRUCTIONS void add_group(Rounds& rounds) {
  __m128i(&words)[4] = rounds.words;
  const __m128i now = words[kGroup & 3];
  const __m128i constants = _mm_load_si128(reinterpret_cast<const __m128i*>(kRoundConstants) + kGroup);
  const __m128i sum = _mm_add_epi32(now, constants);
  rounds.state.cdgh = _mm_sha256rnds2_epu32(rounds.state.cdgh, rounds.state.abef, sum);
  rounds.state.abef =
      _mm_sha256rnds2_epu32(rounds.state.abef, rounds.state.cdgh, _mm_shuffle_epi32(sum, 0x0e));
  if constexpr (kGroup < 12) {
    // The four words that replace this group, for the rounds sixteen words later.
    const __m128i second = words[(kGroup + 1) & 3], third = words[(kGroup + 2) & 3],
                  last = words[(kGroup + 3) & 3];
    __m128i next = _mm_sha256msg1_epu32(now, second);
    next = _mm_add_epi32(next, _mm_alignr_epi8(last, third, 4));
    words[kGroup & 3] = _mm_sha256msg2_epu32(next, last);
  }
}

template <int kGroup>
ETB_SHA_INSTRUCTIONS void add_groups(Rounds& rounds) {
  add_group<kGroup>(rounds);
  if constexpr (kGroup < 15) add_groups<kGroup + 1>(rounds);
}

ETB_SHA_INSTRUCTIONS void end(const Rounds& rounds, State& state) {
  state.abef = _mm_add_epi32(state.abef, rounds.state.abef);
  state.cdgh = _mm_add_epi32(state.cdgh, rounds.state.cdgh);
}

ETB_SHA_INSTRUCTIONS State load_state(const uint32_t* words) {
  return {_mm_set_epi32(static_cast<int>(words[0]), static_cast<int>(words[1]), static_cast<int>(words[4]),
                        static_cast<int>(words[5])),
          _mm_set_epi32(static_cast<int>(words[2]), static_cast<int>(words[3]), static_cast<int>(words[6]),
                        static_cast<int>(words[7]))};
}

ETB_SHA_INSTRUCTIONS void store_state(const State& state, uint32_t* words) {
  alignas(16) uint32_t abef[4], cdgh[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(abef), state.abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(cdgh), state.cdgh);
  const uint32_t result[8] = {abef[3], abef[2], cdgh[3], cdgh[2], abef[1], abef[0], cdgh[1], cdgh[0]};
  std::memcpy(words, result, sizeof(result));
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
  State state = load_state(words);
  for (size_t i = 0; i < count; ++i) {
    Rounds rounds;
    begin(rounds, state, blocks + i * kBlock);
    add_groups<0>(rounds);
    end(rounds, state);
  }
  store_state(state, words);
}

}  // namespace etb::format

#endif
