// SPDX-License-Identifier: Apache-2.0
// Products of blocks of rows and channels with the vectors of Cortex-M55 (MVE). A part of integer_loops.cpp.
#pragma once

#include <arm_mve.h>

#include <cstddef>
#include <cstdint>

namespace etb::host {

// GCC 12 has no loops whose last step has fewer lanes (WLSTP, LETP), so the loops below are written out. Sums of VMLADAVA are in
// registers of even numbers.

// Two rows and two channels: each vector that is loaded serves two products.
inline void add_two_by_two(const int8_t* a, const int8_t* b, const int8_t* c, const int8_t* d,
                           ptrdiff_t count, int32_t (&first)[2], int32_t (&second)[2]) noexcept {
  int8x16_t x, y, v, w;
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.8 %q[x], [%[a]], #16\n"
      "vldrb.8 %q[v], [%[c]], #16\n"
      "vldrb.8 %q[w], [%[d]], #16\n"
      "vldrb.8 %q[y], [%[b]], #16\n"
      "vmladava.s8 %[s00], %q[x], %q[v]\n"
      "vmladava.s8 %[s01], %q[x], %q[w]\n"
      "vmladava.s8 %[s10], %q[y], %q[v]\n"
      "vmladava.s8 %[s11], %q[y], %q[w]\n"
      "letp lr, 1b\n"
      "2:"
      : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [s00] "+Te"(first[0]), [s01] "+Te"(first[1]),
        [s10] "+Te"(second[0]), [s11] "+Te"(second[1]), [x] "=&w"(x), [y] "=&w"(y), [v] "=&w"(v), [w] "=&w"(w)
      : [count] "r"(count)
      : "lr", "memory");
}

// One row and four channels.
inline void add_one_by_four(const int8_t* a, const int8_t* weights, ptrdiff_t weight_step, ptrdiff_t count,
                            int32_t (&sums)[4]) noexcept {
  const int8_t *c = weights, *d = c + weight_step, *e = d + weight_step, *f = e + weight_step;
  int8x16_t x, v, w;
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.8 %q[x], [%[a]], #16\n"
      "vldrb.8 %q[v], [%[c]], #16\n"
      "vldrb.8 %q[w], [%[d]], #16\n"
      "vmladava.s8 %[s0], %q[x], %q[v]\n"
      "vldrb.8 %q[v], [%[e]], #16\n"
      "vmladava.s8 %[s1], %q[x], %q[w]\n"
      "vldrb.8 %q[w], [%[f]], #16\n"
      "vmladava.s8 %[s2], %q[x], %q[v]\n"
      "vmladava.s8 %[s3], %q[x], %q[w]\n"
      "letp lr, 1b\n"
      "2:"
      : [a] "+r"(a), [c] "+r"(c), [d] "+r"(d), [e] "+r"(e), [f] "+r"(f), [s0] "+Te"(sums[0]),
        [s1] "+Te"(sums[1]), [s2] "+Te"(sums[2]), [s3] "+Te"(sums[3]), [x] "=&w"(x), [v] "=&w"(v),
        [w] "=&w"(w)
      : [count] "r"(count)
      : "lr", "memory");
}

// One row and one channel.
inline int32_t add_products(const int8_t* a, const int8_t* c, ptrdiff_t count, int32_t sum) noexcept {
  int8x16_t x, v;
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.8 %q[x], [%[a]], #16\n"
      "vldrb.8 %q[v], [%[c]], #16\n"
      "vmladava.s8 %[sum], %q[x], %q[v]\n"
      "letp lr, 1b\n"
      "2:"
      : [a] "+r"(a), [c] "+r"(c), [sum] "+Te"(sum), [x] "=&w"(x), [v] "=&w"(v)
      : [count] "r"(count)
      : "lr", "memory");
  return sum;
}

}  // namespace etb::host
