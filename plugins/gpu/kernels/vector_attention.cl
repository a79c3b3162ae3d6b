// SPDX-License-Identifier: Apache-2.0
// y = softmax(scale * q * k + mask) * v, for CPU drivers of OpenCL, without scores in memory. Each work-item computes ROWS rows
// of y. It goes through the keys in blocks: scores, their powers below the largest one until then, and the sums of rows of v.
// A larger score in a later block scales the sums of the earlier ones.

#define KEYS (16 * VECTORS)  // of a block, and columns of v that are summed at once
#define MOST 128             // depth and columns

BEGIN_PUSH
  uint rows, keys, depth, columns;  // q [rows, depth], k [depth, keys], v [keys, columns]
  uint heads;                       // matrices of a batch whose masks are mask_head apart
  uint mask_batch, mask_head, mask_row, mask_key;  // elements from one to the next; mask_key: 0 or 1
  uint mask_kind, zeroes_masked;    // MaskKind of plan/attention.hpp; zeroes_masked: a row of only -infinity has powers of 0, not NaN
  uint k_count, v_count, mask_count;  // elements
  float q_scale, scale;             // of q before the product, and of the product
  float fill;                       // in place of scores that the mask hides
  uint k_group, v_group;            // matrices of q in a row that share one of k, or of v
END_PUSH

// exponential() of functions.glsl for vectors. NaN stays NaN.
float16 exponential16(float16 x) {
  float16 clamped = select(x, (float16)(89.0f), x > 89.0f);
  clamped = select(clamped, (float16)(-104.0f), clamped < -104.0f);
  float16 n = rint(clamped * 1.44269504f);
  float16 r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  float16 series = (float16)(0.0013951717f);
  series = series * r + 0.008369599f;
  series = series * r + 0.041666187f;
  series = series * r + 0.16666512f;
  series = series * r + 0.5f;
  float16 result = (series * r) * r + r + 1.0f;
  int16 exponent = convert_int16(n), first = exponent >> 1;
  return result * as_float16((first + 127) << 23) * as_float16((exponent - first + 127) << 23);
}

float largest16(float16 x) {
  float8 a = select(x.lo, x.hi, x.hi > x.lo);
  float4 b = select(a.lo, a.hi, a.hi > a.lo);
  float2 c = select(b.lo, b.hi, b.hi > b.lo);
  return c.y > c.x ? c.y : c.x;
}
float sum16(float16 x) {
  float8 a = x.lo + x.hi;
  float4 b = a.lo + a.hi;
  return (b.x + b.z) + (b.y + b.w);
}

// 16 numbers from index `at`; those after the last of `count` are any.
float16 load16(__global const float* from, uint at, uint count) {
  if (at + 16 <= count) return vload16(0, from + at);
  float line[16];
  UNROLL for (uint n = 0; n < 16; ++n) line[n] = from[min(at + n, count - 1)];
  return vload16(0, line);
}

// Rows of a block of KEYS columns that are whole in the memory of a tensor of `count` numbers: the last ones may not be.
uint rows_inside(uint first, uint stride, uint rows, uint count) {
  return first + KEYS <= count ? min(rows, (count - first - KEYS) / stride + 1) : 0;
}

// Adds a row of numbers to the sums of each row, with a factor that depends on `i`.
#define ADD_ROW(sums, scale)                \
  UNROLL for (uint i = 0; i < ROWS; ++i)    \
    UNROLL for (uint j = 0; j < VECTORS; ++j) sums[i][j] = fma((float16)(scale), factor[j], sums[i][j]);

KERNEL5(READS, float, q, READS, float, k, READS, float, v, READS, float, mask, WRITES, float, y) {
  uint row = GLOBAL_X * ROWS, batch = GROUP_Y;
  if (row >= push.rows) return;
  const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  uint mask_at[ROWS];
  float scaled[ROWS][MOST], largest[ROWS];
  float16 total[ROWS];
  float16 sum[MOST / 16][ROWS];
  uint column_blocks = (push.columns + KEYS - 1) / KEYS * VECTORS;
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    uint each = min(row + i, push.rows - 1);
    for (uint d = 0; d < push.depth; ++d)
      scaled[i][d] = q[(batch * push.rows + each) * push.depth + d] * push.q_scale;
    mask_at[i] = batch / push.heads * push.mask_batch + batch % push.heads * push.mask_head + each * push.mask_row;
    largest[i] = -INFINITY;
    total[i] = (float16)(0);
    for (uint c = 0; c < column_blocks; ++c) sum[c][i] = (float16)(0);
  }
  for (uint first = 0; first < push.keys; first += KEYS) {
    uint count = min((uint)KEYS, push.keys - first);
    uint k_at = batch / push.k_group * push.depth * push.keys + first;
    float16 score[ROWS][VECTORS];
    UNROLL for (uint i = 0; i < ROWS; ++i)
      UNROLL for (uint j = 0; j < VECTORS; ++j) score[i][j] = (float16)(0);
    uint inside = rows_inside(k_at, push.keys, push.depth, push.k_count);
    for (uint d = 0; d < inside; ++d) {
      float16 factor[VECTORS];
      UNROLL for (uint j = 0; j < VECTORS; ++j) factor[j] = vload16(j, k + k_at + d * push.keys);
      ADD_ROW(score, scaled[i][d])
    }
    for (uint d = inside; d < push.depth; ++d) {
      float16 factor[VECTORS];
      UNROLL for (uint j = 0; j < VECTORS; ++j) factor[j] = load16(k, k_at + d * push.keys + 16 * j, push.k_count);
      ADD_ROW(score, scaled[i][d])
    }
    float power[ROWS][KEYS], shrink[ROWS];
    UNROLL for (uint i = 0; i < ROWS; ++i) {
      float16 high = (float16)(-INFINITY);
      UNROLL for (uint j = 0; j < VECTORS; ++j) {
        score[i][j] *= push.scale;
        if (push.mask_kind != 0) {
          float16 each = push.mask_key != 0 ? load16(mask, mask_at[i] + first + 16 * j, push.mask_count)
                                            : (float16)(mask[mask_at[i]]);
          int16 is_hidden = push.mask_kind == 2 ? each != 0.0f : each == 0.0f;
          score[i][j] = push.mask_kind == 1 ? score[i][j] + each : select(score[i][j], (float16)(push.fill), is_hidden);
        }
        score[i][j] = select((float16)(-INFINITY), score[i][j], lanes + (int)(16 * j) < (int16)((int)count));
        high = select(high, score[i][j], score[i][j] > high);
      }
      float highest = largest16(high), most = highest > largest[i] ? highest : largest[i];
      float base = most == -INFINITY ? 0.0f : most;  // -infinity - -infinity is NaN
      shrink[i] = exponential16((float16)(largest[i] - base)).x;
      largest[i] = most;
      total[i] *= shrink[i];
      UNROLL for (uint j = 0; j < VECTORS; ++j) {
        float16 powers = exponential16(score[i][j] - base);
        total[i] += powers;
        vstore16(powers, j, power[i]);
      }
    }
    uint v_at = (batch / push.v_group * push.keys + first) * push.columns;
    for (uint c = 0; c < column_blocks; c += VECTORS) {
      float16 part[ROWS][VECTORS];
      UNROLL for (uint i = 0; i < ROWS; ++i)
        UNROLL for (uint j = 0; j < VECTORS; ++j) part[i][j] = sum[c + j][i] * shrink[i];
      uint from = v_at + c * 16;
      inside = rows_inside(from, push.columns, count, push.v_count);
      for (uint n = 0; n < inside; ++n) {
        float16 factor[VECTORS];
        UNROLL for (uint j = 0; j < VECTORS; ++j) factor[j] = vload16(j, v + from + n * push.columns);
        ADD_ROW(part, power[i][n])
      }
      for (uint n = inside; n < count; ++n) {
        float16 factor[VECTORS];
        UNROLL for (uint j = 0; j < VECTORS; ++j) factor[j] = load16(v, from + n * push.columns + 16 * j, push.v_count);
        ADD_ROW(part, power[i][n])
      }
      UNROLL for (uint i = 0; i < ROWS; ++i)
        UNROLL for (uint j = 0; j < VECTORS; ++j) sum[c + j][i] = part[i][j];
    }
  }
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    if (row + i >= push.rows) break;
    float all = sum16(total[i]);
    if (largest[i] == -INFINITY) all = push.zeroes_masked != 0 || push.keys == 0 ? 1.0f : NOT_A_NUMBER;
    __global float* to = y + (batch * push.rows + row + i) * push.columns;
    for (uint c = 0; c < column_blocks; ++c) {
      float16 result = sum[c][i] / all;
      if (c * 16 + 16 <= push.columns) {
        vstore16(result, c, to);
      } else {
        float line[16];
        vstore16(result, 0, line);
        for (uint n = c * 16; n < push.columns; ++n) to[n] = line[n - c * 16];
      }
    }
  }
}
