// SPDX-License-Identifier: Apache-2.0
// What all kernels share, in the language of kernel.glsl and kernel.cl.

// Tests the bits: compilers may assume that x == x.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// NaN stays NaN; high wins where low > high.
float limited(float x, float low, float high) {
  float raised = x < low ? low : x;
  return is_nan(x) ? x : (raised > high ? high : raised);
}

// x / count, rounded nearly as well as possible. GPUs may be 2.5 units off, all results in the same direction; means of large
// numbers would show it.
float divided(float x, float count) {
  float quotient = x / count;
  float rest = fma(-quotient, count, x);
  return abs(quotient) < INFINITY ? quotient + rest / count : quotient;
}

// Four codes of eight bits of a word, or of four bits of its lower half. They are stored without a sign (plan/codes.hpp).
vec4 codes8(uint word) {
  return VEC4(float(word & 255u), float(word >> 8 & 255u), float(word >> 16 & 255u), float(word >> 24)) - 128.0;
}
vec4 codes4(uint word) {
  return VEC4(float(word & 15u), float(word >> 4 & 15u), float(word >> 8 & 15u), float(word >> 12 & 15u)) - 8.0;
}

// Lavapipe of Mesa 22.3 ends all loops of an invocation after 65,535 turns together, without a word. So loops over elements
// handle four in each turn, and plan/dispatch.hpp counts the turns.
// `n` counts by constants, or drivers would not unroll.
#define FOUR_EACH(first, count) for (uint first = 0; first < (count); first += 4)
#define EACH_OF_FOUR(i, first, count) \
  UNROLL for (uint n = 0, i = first; n < 4; ++n, ++i) if (i < (count))
