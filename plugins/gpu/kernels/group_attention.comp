// SPDX-License-Identifier: Apache-2.0
// y = softmax(scale * q * k + mask) * v, for GPUs, without scores in memory. A workgroup computes 16 rows, in blocks of 32 keys. Each
// invocation has two rows: scores of four keys, their powers below the largest one until then, and the sums of up to 16 columns.
// A larger score in a later block scales the sums of the earlier ones. WHOLE=1: depth and columns are multiples of four.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

#define LANES 64u
#define ROWS 2u       // of an invocation
#define TILE_ROWS 16u
#define KEYS 32u
#define STEP 16u      // of the depth, loaded at once
#define BLOCKS 4u     // of 32 columns: at most 128
#define Q_STRIDE 33u  // vectors of the depth, at most 128 numbers, and one that keeps rows in different banks
#define K_STRIDE 5u
#define K_PART (TILE_ROWS * Q_STRIDE)
#define PART_NUMEL (K_PART + KEYS * K_STRIDE)
#define POWER_STRIDE 33u

#if WHOLE
#define NUMBERS vec4
#define FOUR(from, at, index, count) from[((at) + (index)) / 4]
#else
#define NUMBERS float
#define ONE(from, at, index, count) ((index) < (count) ? from[(at) + (index)] : 0.0f)
#define FOUR(from, at, index, count)                                          \
  VEC4(ONE(from, at, index, count), ONE(from, at, (index) + 1, count),        \
       ONE(from, at, (index) + 2, count), ONE(from, at, (index) + 3, count))
#endif

BEGIN_PUSH
  uint rows, keys, depth, columns;  // q [rows, depth], k [keys, depth], v [keys, columns]
  uint heads;                       // matrices of a batch whose masks are mask_head apart
  uint mask_batch, mask_head, mask_row, mask_key;  // elements from one to the next
  uint mask_kind, zeroes_masked;    // MaskKind of plan/attention.hpp; zeroes_masked: a row of only -infinity has powers of 0, not NaN
  uint k_count, v_count, mask_count;  // elements
  float q_scale, scale;             // of q before the product, and of the product
  float fill;                       // in place of scores that the mask hides
  uint k_group, v_group;            // matrices of q in a row that share one of k, or of v
END_PUSH

SHARED_OUTSIDE(vec4, part, PART_NUMEL)
SHARED_OUTSIDE(float, power, TILE_ROWS * POWER_STRIDE)
SHARED_OUTSIDE(float, highest, TILE_ROWS * 8u)

KERNEL5(READS, NUMBERS, q, READS, NUMBERS, k, READS, NUMBERS, v, READS, float, mask, WRITES, NUMBERS, y) {
  SHARED_INSIDE(vec4, part, PART_NUMEL)
  SHARED_INSIDE(float, power, TILE_ROWS * POWER_STRIDE)
  SHARED_INSIDE(float, highest, TILE_ROWS * 8u)
  uint lane = LOCAL_X, across = lane % 8, own_row = lane / 8 * ROWS;
  uint rows = push.rows, keys = push.keys, depth = push.depth, columns = push.columns;
  uint tile_row = GROUP_X * TILE_ROWS, batch = GROUP_Z;
  uint k_matrix = batch / max(push.k_group, 1u) * keys;  // OpenCL devices prepare kernels with zeros
  uint v_matrix = batch / max(push.v_group, 1u) * keys;
  uint heads = max(push.heads, 1u);
  uint mask_at = batch / heads * push.mask_batch + batch % heads * push.mask_head;
  UNROLL for (uint j = 0; j < 8; ++j) {
    uint index = lane + j * LANES, row = index / 32, from = index % 32 * 4;
    vec4 numbers = VEC4(0);
    if (tile_row + row < rows && from < depth)
      numbers = FOUR(q, (batch * rows + tile_row + row) * depth, from, depth) * push.q_scale;
    part[row * Q_STRIDE + index % 32] = numbers;
  }
  float largest[ROWS], total[ROWS];
  vec4 sum[ROWS][BLOCKS];
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    largest[i] = -INFINITY;
    total[i] = 0.0f;
    UNROLL for (uint j = 0; j < BLOCKS; ++j) sum[i][j] = VEC4(0);
  }
  // No invocation leaves early: all reach the barriers.
  for (uint first = 0; first < keys; first += KEYS) {
    vec4 score[ROWS];
    UNROLL for (uint i = 0; i < ROWS; ++i) score[i] = VEC4(0);
    for (uint d = 0; d < depth; d += STEP) {
      UNROLL for (uint j = 0; j < 2; ++j) {
        uint index = lane + j * LANES, key = index / 4, from = d + index % 4 * 4;
        vec4 numbers = VEC4(0);
        if (first + key < keys && from < depth)
          numbers = FOUR(k, (k_matrix + first + key) * depth, from, depth);
        part[K_PART + key * K_STRIDE + index % 4] = numbers;
      }
      BARRIER;
      UNROLL for (uint s = 0; s < 4; ++s) {
        vec4 w[ROWS];
        UNROLL for (uint i = 0; i < ROWS; ++i) w[i] = part[(own_row + i) * Q_STRIDE + d / 4 + s];
        UNROLL for (uint m = 0; m < 4; ++m) {
          vec4 factor = part[K_PART + (across + 8 * m) * K_STRIDE + s];
          UNROLL for (uint i = 0; i < ROWS; ++i) ELEMENT(score[i], m) += dot(w[i], factor);
        }
      }
      BARRIER;
    }
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      uint mask_row = mask_at + min(tile_row + own_row + i, rows - 1) * push.mask_row;
      float high = -INFINITY;
      UNROLL for (uint m = 0; m < 4; ++m) {
        uint key = first + across + 8 * m;
        float number = ELEMENT(score[i], m) * push.scale;
        if (push.mask_kind != 0) {
          float each = mask[mask_row + min(key, keys - 1) * push.mask_key];
          bool is_hidden = (each != 0.0f) == (push.mask_kind == 2);
          number = push.mask_kind == 1 ? number + each : (is_hidden ? push.fill : number);
        }
        number = key < keys ? number : -INFINITY;
        high = number > high ? number : high;
        ELEMENT(score[i], m) = number;
      }
      highest[(own_row + i) * 8 + across] = high;
    }
    BARRIER;
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      float most = largest[i];
      UNROLL for (uint n = 0; n < 8; ++n) {
        float other = highest[(own_row + i) * 8 + n];
        most = other > most ? other : most;
      }
      float base = most == -INFINITY ? 0.0f : most;  // -infinity - -infinity is NaN
      float shrink = exponential(largest[i] - base);
      largest[i] = most;
      total[i] *= shrink;
      UNROLL for (uint j = 0; j < BLOCKS; ++j) sum[i][j] *= shrink;
      UNROLL for (uint m = 0; m < 4; ++m)
        power[(own_row + i) * POWER_STRIDE + across + 8 * m] = exponential(ELEMENT(score[i], m) - base);
    }
    BARRIER;
    uint count = min(KEYS, keys - first);
    for (uint n = 0; n < count; ++n) {
      float scale[ROWS];
      UNROLL for (uint i = 0; i < ROWS; ++i) {
        scale[i] = power[(own_row + i) * POWER_STRIDE + n];
        total[i] += scale[i];
      }
      UNROLL for (uint j = 0; j < BLOCKS; ++j) {
        uint column = across * 4 + 32 * j;
        if (column >= columns) continue;
        vec4 factor = FOUR(v, (v_matrix + first + n) * columns, column, columns);
        UNROLL for (uint i = 0; i < ROWS; ++i) sum[i][j] += scale[i] * factor;
      }
    }
    BARRIER;
  }
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    uint row = tile_row + own_row + i;
    if (row >= rows) break;
    float all = total[i];
    if (largest[i] == -INFINITY) all = push.zeroes_masked != 0 || keys == 0 ? 1.0f : NOT_A_NUMBER;
    uint to = (batch * rows + row) * columns;
    UNROLL for (uint j = 0; j < BLOCKS; ++j) {
      uint column = across * 4 + 32 * j;
      vec4 result = sum[i][j] / all;
#if WHOLE
      if (column < columns) y[(to + column) / 4] = result;
#else
      UNROLL for (uint n = 0; n < 4; ++n)
        if (column + n < columns) y[to + column + n] = ELEMENT(result, n);
#endif
    }
  }
}
