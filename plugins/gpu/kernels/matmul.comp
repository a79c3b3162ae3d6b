// SPDX-License-Identifier: Apache-2.0
// y = limited(alpha * a * b + beta * bias). Each invocation computes ROWS rows of VECTORS times four columns in registers:
// no shared memory and no barrier, which cost CPU drivers ten to thirty times the product. The rows of a are the same for
// a whole workgroup. WHOLE=1: columns are a multiple of four. BITS=16: b has numbers of float16, two in a word. BITS=8 or 4:
// b has codes, and `factors` a row of scales and a row of zero points for each group of the depth. A word has four columns of
// a row, or of two rows of 4 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

#if WHOLE
#define COLUMNS vec4  // columns as b and y store them
#else
#define COLUMNS float
#endif
#define CODED (BITS == 4 || BITS == 8)
#if BITS == 16
#define PACKED_ROW HALF_ROW
#elif BITS == 8
#define PACKED_ROW CODE8_ROW
#else
#define PACKED_ROW CODE4_ROW
#endif
BEGIN_PUSH
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // elements from one matrix of a batch to the next
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;
  RESIDUAL_PUSH
#if CODED
  uint group;  // of the depth
#endif
END_PUSH

#if BITS == 16
KERNEL5(READS, float, a, READS, uint, b, READS, float, bias, READS, COLUMNS, residual, WRITES, COLUMNS, y) {
#elif BITS
KERNEL6(READS, float, a, READS, uint, b, READS, vec4, factors, READS, float, bias, READS, COLUMNS, residual, WRITES, COLUMNS, y) {
#else
KERNEL5(READS, float, a, READS, COLUMNS, b, READS, float, bias, READS, COLUMNS, residual, WRITES, COLUMNS, y) {
#endif
  uint column = GLOBAL_X * (4 * VECTORS);
  if (column >= push.columns) return;
  uint row = GROUP_Y * ROWS;
  uint batch = GROUP_Z;
  uint a_at[ROWS];
  UNROLL for (uint i = 0; i < ROWS; ++i) a_at[i] = batch * push.a_batch + min(row + i, push.rows - 1) * push.depth;
  // Columns after the last are computed from it again, and not stored.
#if BITS
  uint b_at[VECTORS];
  uint stride = push.b_row / 4;
  UNROLL for (uint j = 0; j < VECTORS; ++j) b_at[j] = min(column / 4 + j, stride - 1);
#elif WHOLE
  uint b_at[VECTORS];
  UNROLL for (uint j = 0; j < VECTORS; ++j) b_at[j] = (batch * push.b_batch + min(column + 4 * j, push.columns - 4)) / 4;
#else
  uvec4 b_at[VECTORS];
  UNROLL for (uint j = 0; j < VECTORS; ++j)
    b_at[j] = batch * push.b_batch + min(column + 4 * j + UVEC4(0, 1, 2, 3), UVEC4(push.columns - 1));
#endif
  vec4 sum[ROWS][VECTORS];
  UNROLL for (uint i = 0; i < ROWS; ++i)
    UNROLL for (uint j = 0; j < VECTORS; ++j) sum[i][j] = VEC4(0);
#if CODED
  for (uint first = 0, row_of_factors = 0; first < push.depth; first += push.group, row_of_factors += 2 * stride)
#endif
  {
#if CODED
  vec4 steps[VECTORS], zero[VECTORS];
  UNROLL for (uint j = 0; j < VECTORS; ++j) {
    steps[j] = factors[row_of_factors + b_at[j]];
    zero[j] = factors[row_of_factors + stride + b_at[j]];
  }
  for (uint k = first; k < min(first + push.group, push.depth); ++k) {
#else
  for (uint k = 0; k < push.depth; ++k) {
#endif
    vec4 factor[VECTORS];
    UNROLL for (uint j = 0; j < VECTORS; ++j) {
#if BITS == 16
      factor[j] = PACKED_ROW(b, b_at[j], k, stride);
#elif BITS
      factor[j] = (PACKED_ROW(b, b_at[j], k, stride) - zero[j]) * steps[j];
#elif WHOLE
      factor[j] = LOAD4(b, b_at[j] + k * (push.b_row / 4));
#else
      uvec4 at = b_at[j] + k * push.b_row;
      factor[j] = GATHER4(b, at);
#endif
    }
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      float scale = LOAD(a, a_at[i] + k);
      UNROLL for (uint j = 0; j < VECTORS; ++j) sum[i][j] += scale * factor[j];
    }
  }
  }
  vec4 start[VECTORS];
  UNROLL for (uint j = 0; j < VECTORS; ++j) {
    start[j] = VEC4(0);
    if (push.has_bias != 0 && push.bias_row == 0) {
      uvec4 at = min(column + 4 * j + UVEC4(0, 1, 2, 3), UVEC4(push.columns - 1)) * push.bias_column;
      start[j] = push.beta * GATHER4(bias, at);
    }
  }
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    if (row + i >= push.rows) break;
    float row_start = push.has_bias != 0 && push.bias_row != 0 ? push.beta * LOAD(bias, (row + i) * push.bias_row) : 0.0f;
    UNROLL for (uint j = 0; j < VECTORS; ++j) {
      uint first = column + 4 * j;
      if (first >= push.columns) break;
      vec4 result = limited4(push.alpha * sum[i][j] + (start[j] + row_start), push.low, push.high);
      uint to = batch * push.y_batch + (row + i) * push.columns + first;
#if WHOLE
      ADD_RESIDUAL4(result, LOAD4(residual, to / 4))
      STORE4(y, to / 4, result)
#else
      UNROLL for (uint n = 0; n < 4; ++n) {
        if (first + n >= push.columns) continue;
        float number = ELEMENT(result, n);
        ADD_RESIDUAL(number, LOAD(residual, to + n))
        STORE(y, to + n, number)
      }
#endif
    }
  }
}
