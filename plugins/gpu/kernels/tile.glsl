// SPDX-License-Identifier: Apache-2.0
// Parts that the kernels tile_*.comp share. Lavapipe compiles a kernel when it first runs, so their code is short as well as fast:
//
// - Arguments are read before the first branch. After one the driver reads them for each lane: 37 instructions instead of 12.
// - Biases are texels. A fetch is one call; a load from a storage buffer is a loop over the lanes.
// - Sums are stored by a loop over parts of a tile. A store is a loop over the lanes, of 50 instructions for four numbers.
// - The inner products are written out by macros. Mesa needs 20 ms to unroll as many loops.
#include "kernel.glsl"

const uint kPart = 2;  // rows or channels that a turn of the last loop stores

// As limited(), but without a test of NaN: both comparisons are false for it, and lavapipe keeps them as they are.
float clamped_number(float x, float low, float high) {
  float raised = x < low ? low : x;
  return raised > high ? high : raised;
}
vec2 clamped_numbers(vec2 x, float low, float high) {
  return vec2(clamped_number(x.x, low, high), clamped_number(x.y, low, high));
}
vec4 clamped_numbers(vec4 x, float low, float high) {
  return vec4(clamped_numbers(x.xy, low, high), clamped_numbers(x.zw, low, high));
}

// Last step, as ADD_RESIDUAL of numbers.glsl.
#define ADD_FETCHED(result, numbers)                                                  \
  result = has_residual ? clamped_numbers(result + (numbers), sum_low, sum_high) : result;

// Sets `total` to sum[kPart * part + i] of `count` sums. An index that is no constant would move the sums to memory.
#define CHOOSE_SUM(total, sum, part, i, count) \
  total = sum[i];                              \
  [[unroll]] for (uint p = 1; p < (count) / kPart; ++p) total = (part) == p ? sum[p * kPart + i] : total;
