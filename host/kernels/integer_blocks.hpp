// SPDX-License-Identifier: Apache-2.0
// Products of blocks of rows and channels, with the pairs of Cortex-M4 where it has them (ETB_HAS_PAIRS). A part of integer_loops.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#define ETB_HAS_PAIRS 1
#endif

namespace etb::host {

inline int32_t multiply_add(int32_t a, int32_t b, int32_t sum) noexcept {
  return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
}

#if defined(ETB_HAS_PAIRS)
// Four codes are two pairs of 16 bits: the first and third, the second and fourth.
inline int16x2_t even_of(uint32_t codes) noexcept { return __sxtb16(static_cast<int8x4_t>(codes)); }
inline int16x2_t odd_of(uint32_t codes) noexcept {
  int16x2_t pair;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(codes));  // GCC 12 does not join __sxtb16 and __ror
  return pair;
}
inline uint32_t load_codes(const int8_t* from) noexcept {
  uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
#endif

// Two rows and two channels: each value that is loaded serves two products.
inline void add_two_by_two(const int8_t* a, const int8_t* b, const int8_t* c, const int8_t* d,
                           ptrdiff_t count, int32_t (&first)[2], int32_t (&second)[2]) noexcept {
  int32_t s00 = first[0], s01 = first[1], s10 = second[0], s11 = second[1];
#if defined(ETB_HAS_PAIRS)
  for (const int8_t* end = a + count / 4 * 4; a != end; a += 4, b += 4, c += 4, d += 4) {
    const uint32_t v = load_codes(c), w = load_codes(d), x = load_codes(a);
    const int16x2_t v_even = even_of(v), w_even = even_of(w), v_odd = odd_of(v), w_odd = odd_of(w);
    const int16x2_t x_even = even_of(x), x_odd = odd_of(x);
    s00 = __smlad(x_odd, v_odd, __smlad(x_even, v_even, s00));
    s01 = __smlad(x_odd, w_odd, __smlad(x_even, w_even, s01));
    const uint32_t y = load_codes(b);
    const int16x2_t y_even = even_of(y), y_odd = odd_of(y);
    s10 = __smlad(y_odd, v_odd, __smlad(y_even, v_even, s10));
    s11 = __smlad(y_odd, w_odd, __smlad(y_even, w_even, s11));
  }
  count %= 4;
#endif
  const auto step = [&](ptrdiff_t i) {
    const int32_t v = c[i], w = d[i], x = a[i];
    s00 = multiply_add(x, v, s00);
    s01 = multiply_add(x, w, s01);
    const int32_t y = b[i];
    s10 = multiply_add(y, v, s10);
    s11 = multiply_add(y, w, s11);
    // Without this the compiler adds the products of several steps first, which needs more instructions.
    __asm__("" : "+r"(s00), "+r"(s01), "+r"(s10), "+r"(s11));
  };
#if !defined(ETB_HAS_PAIRS)
  for (const int8_t* end = a + count / 4 * 4; a != end; a += 4, b += 4, c += 4, d += 4) {
    step(0);
    step(1);
    step(2);
    step(3);
  }
  count %= 4;
#endif
  for (ptrdiff_t i = 0; i < count; ++i) step(i);
  first[0] = s00, first[1] = s01;
  second[0] = s10, second[1] = s11;
}

// One row and four channels. The steps have one index for all rows: five pointers would need an instruction each. It counts up to 0,
// which needs no comparison.
[[gnu::always_inline]] inline void add_one_by_four(const int8_t* a, const int8_t* weights,
                                                   ptrdiff_t weight_step, ptrdiff_t count,
                                                   int32_t (&sums)[4]) noexcept {
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
#if defined(ETB_HAS_PAIRS)
  ptrdiff_t rest = count % 4;
#else
  ptrdiff_t rest = 0;
#endif
  const ptrdiff_t whole = count - rest;
  a += whole;
  const int8_t *c = weights + whole, *d = c + weight_step, *e = d + weight_step, *f = e + weight_step;
  __asm__("" : "+r"(a), "+r"(c), "+r"(d), "+r"(e), "+r"(f));  // not added again in each step
#if defined(ETB_HAS_PAIRS)
  for (ptrdiff_t i = -whole; i != 0; i += 4) {
    const uint32_t x = load_codes(a + i);
    const int16x2_t even = even_of(x), odd = odd_of(x);
    const auto add_pairs = [&](const int8_t* weight, int32_t& sum) {
      const uint32_t codes = load_codes(weight + i);
      sum = __smlad(odd, odd_of(codes), __smlad(even, even_of(codes), sum));
    };
    add_pairs(c, s0);
    add_pairs(d, s1);
    add_pairs(e, s2);
    add_pairs(f, s3);
    __asm__("" : "+r"(i));
  }
#endif
  const auto step = [&](ptrdiff_t i) {
    const int32_t x = a[i];
    s0 = multiply_add(x, c[i], s0);
    s1 = multiply_add(x, d[i], s1);
    s2 = multiply_add(x, e[i], s2);
    s3 = multiply_add(x, f[i], s3);
  };
#if defined(ETB_HAS_PAIRS)
  for (ptrdiff_t i = 0; i < rest; ++i) step(i);
#else
  for (ptrdiff_t i = -whole; i != 0; ++i) {
    step(i);
    __asm__("" : "+r"(i));
  }
#endif
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
}

// One row and one channel.
inline int32_t add_products(const int8_t* a, const int8_t* c, ptrdiff_t count, int32_t sum) noexcept {
  ptrdiff_t i = 0;
#if defined(ETB_HAS_PAIRS)
  for (const ptrdiff_t end = count - count % 4; i != end; i += 4) {
    const uint32_t x = load_codes(a + i), v = load_codes(c + i);
    sum = __smlad(odd_of(x), odd_of(v), __smlad(even_of(x), even_of(v), sum));
  }
#endif
  for (; i < count; ++i) sum = multiply_add(a[i], c[i], sum);
  return sum;
}

}  // namespace etb::host
