// SPDX-License-Identifier: Apache-2.0
// y = softmax(scale * q * k + mask) * v, for CPU drivers that run a subgroup of eight in one vector register, without scores in
// memory. A workgroup is one subgroup. It computes 8 rows of 64 columns, in blocks of 32 keys: each invocation has the scores
// of four keys. The powers of scores are those below the largest one until then; a larger one in a later block scales the sums
// of the earlier ones. Loads are texel fetches, as in tile_matmul.comp. WHOLE=1: depth and columns are multiples of four.
// MASKED=1: a mask is added; 2: it chooses scores that another number replaces.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tile.glsl"
#include "functions.glsl"

layout(set = 0, binding = 0) uniform samplerBuffer q;
layout(set = 0, binding = 1) uniform samplerBuffer k;
layout(set = 0, binding = 2) uniform samplerBuffer v;
layout(set = 0, binding = 3) uniform samplerBuffer mask;
#if WHOLE
layout(set = 0, binding = 4) writeonly buffer Out { vec4 y[]; };
#else
layout(set = 0, binding = 4) writeonly buffer Out { float y[]; };
#endif
layout(push_constant) uniform Push {
  uint rows, keys, depth, columns;  // q [rows, depth], k [keys, depth], v [keys, columns]
  uint heads;                       // matrices of a batch whose masks are mask_head apart
  uint mask_batch, mask_head, mask_row, mask_key;  // elements from one to the next
  uint mask_kind, zeroes_masked;    // MaskKind of plan/attention.hpp; zeroes_masked: a row of only -infinity has powers of 0, not NaN
  uint k_count, v_count, mask_count;  // elements
  float q_scale, scale;             // of q before the product, and of the product
  float fill;                       // in place of scores that the mask hides
  uint k_group, v_group;            // matrices of q in a row that share one of k, or of v
} push;

const uint kRows = 8;    // 16 are no faster, and take twice as long to compile
const uint kBlocks = 2;  // of 32 columns

// Four neighbours of a row of `count` elements that begins at `row`. Those after the last are any.
#if WHOLE
#define FOUR(from, row, index, count) texelFetch(from, int((row + min(index, count - 4)) / 4))
#else
#define ONE(from, row, index, count) texelFetch(from, int(row + min(index, count - 1))).x
#define FOUR(from, row, index, count)                                            \
  vec4(ONE(from, row, index, count), ONE(from, row, (index) + 1, count),         \
       ONE(from, row, (index) + 2, count), ONE(from, row, (index) + 3, count))
#endif

// Adds four steps of the depth to row `i`.
#define ROW(i)                                      \
  score[i] += subgroupShuffle(w.x, i) * factor[0]; \
  score[i] += subgroupShuffle(w.y, i) * factor[1]; \
  score[i] += subgroupShuffle(w.z, i) * factor[2]; \
  score[i] += subgroupShuffle(w.w, i) * factor[3];

// No loop over the distance: drivers unroll only loops that add to their counter.
float larger_of(float x, uint distance) {
  float other = subgroupShuffle(x, gl_SubgroupInvocationID ^ distance);
  return other > x ? other : x;
}
float largest_of(float x) { return larger_of(larger_of(larger_of(x, 1), 2), 4); }
float pair_sum(float x, uint distance) { return x + subgroupShuffle(x, gl_SubgroupInvocationID ^ distance); }
float sum_of(float x) { return pair_sum(pair_sum(pair_sum(x, 1), 2), 4); }

void main() {
  // No invocation returns early: shuffles read all lanes.
  uint rows = push.rows, keys = push.keys, depth = push.depth, columns = push.columns;
  float q_scale = push.q_scale, scale = push.scale;
  bool zeroes_masked = push.zeroes_masked != 0;
  uint lane = gl_SubgroupInvocationID;
  uint column = gl_WorkGroupID.x * (32 * kBlocks) + lane * 4;
  uint row = gl_WorkGroupID.y * kRows;
  uint batch = gl_WorkGroupID.z, k_batch = batch / push.k_group;
  // Rows, keys and columns after the last are computed from it again, and not counted or stored.
  uint q_at = (batch * rows + min(row + lane, rows - 1)) * depth;
#if MASKED
  uint heads = push.heads, mask_row = push.mask_row, mask_key = push.mask_key;
  bool hides_set = push.mask_kind == 2;
  vec4 fill = vec4(push.fill);
  uint mask_at = batch / heads * push.mask_batch + batch % heads * push.mask_head;
#endif
  float largest[kRows];
  float total[kRows];
  vec4 sum[kRows][kBlocks];
  [[unroll]] for (uint i = 0; i < kRows; ++i) {
    largest[i] = -INFINITY;
    total[i] = 0;
    [[unroll]] for (uint j = 0; j < kBlocks; ++j) sum[i][j] = vec4(0);
  }
  for (uint first = 0; first < keys; first += 32) {
    uint key = first + lane * 4;
    vec4 score[kRows];
    [[unroll]] for (uint i = 0; i < kRows; ++i) score[i] = vec4(0);
    uint k_at[4];
    [[unroll]] for (uint m = 0; m < 4; ++m) k_at[m] = (k_batch * keys + min(key + m, keys - 1)) * depth;
    for (uint d = 0; d < depth; d += 4) {
      vec4 w = FOUR(q, q_at, d, depth) * q_scale, each[4], factor[4];
      [[unroll]] for (uint m = 0; m < 4; ++m) each[m] = FOUR(k, k_at[m], d, depth);
#if !WHOLE
      bvec4 is_inside = lessThan(d + uvec4(0, 1, 2, 3), uvec4(depth));
      w = mix(vec4(0), w, is_inside);
      [[unroll]] for (uint m = 0; m < 4; ++m) each[m] = mix(vec4(0), each[m], is_inside);
#endif
      [[unroll]] for (uint n = 0; n < 4; ++n) factor[n] = vec4(each[0][n], each[1][n], each[2][n], each[3][n]);
      ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
    }
    bvec4 counts = lessThan(key + uvec4(0, 1, 2, 3), uvec4(keys));
    float shrink[kRows];
    [[unroll]] for (uint i = 0; i < kRows; ++i) {
      score[i] *= scale;
#if MASKED
      uint from = mask_at + min(row + i, rows - 1) * mask_row;
      uvec4 at = from + min(key + uvec4(0, 1, 2, 3), uvec4(keys - 1)) * mask_key;
      vec4 each = vec4(texelFetch(mask, int(at.x)).x, texelFetch(mask, int(at.y)).x, texelFetch(mask, int(at.z)).x,
                       texelFetch(mask, int(at.w)).x);
#if MASKED == 1
      score[i] += each;
#else
      score[i] = mix(score[i], fill, hides_set ? notEqual(each, vec4(0)) : equal(each, vec4(0)));
#endif
#endif
      score[i] = mix(vec4(-INFINITY), score[i], counts);
      float a = score[i].x > score[i].y ? score[i].x : score[i].y, b = score[i].z > score[i].w ? score[i].z : score[i].w;
      float highest = largest_of(a > b ? a : b);
      float most = highest > largest[i] ? highest : largest[i];
      float base = most == -INFINITY ? 0.0f : most;  // -infinity - -infinity is NaN
      shrink[i] = exponential(largest[i] - base);
      largest[i] = most;
      score[i] = vec4(exponential(score[i].x - base), exponential(score[i].y - base), exponential(score[i].z - base),
                      exponential(score[i].w - base));
      total[i] = total[i] * shrink[i] + ((score[i].x + score[i].y) + (score[i].z + score[i].w));
      [[unroll]] for (uint j = 0; j < kBlocks; ++j) sum[i][j] *= shrink[i];
    }
    uint v_at = batch / push.v_group * keys * columns;
    for (uint source = 0; source < 8; ++source) {
      [[unroll]] for (uint n = 0; n < 4; ++n) {
        uint each = first + source * 4 + n;
        vec4 factor[kBlocks];
        [[unroll]] for (uint j = 0; j < kBlocks; ++j) {
          factor[j] = FOUR(v, v_at + min(each, keys - 1) * columns, column + 32 * j, columns);
          factor[j] = mix(vec4(0), factor[j], bvec4(each < keys));  // not 0 * NaN
        }
        [[unroll]] for (uint i = 0; i < kRows; ++i) {
          float power = subgroupShuffle(score[i][n], source);
          [[unroll]] for (uint j = 0; j < kBlocks; ++j) sum[i][j] += power * factor[j];
        }
      }
    }
  }
  uint parts = min((rows - row + kPart - 1) / kPart, kRows / kPart);
  for (uint part = 0; part < parts; ++part) {
    [[unroll]] for (uint i = 0; i < kPart; ++i) {
      float part_total, part_largest;
      CHOOSE_SUM(part_total, total, part, i, kRows)
      CHOOSE_SUM(part_largest, largest, part, i, kRows)
      float all = sum_of(part_total);
      all = part_largest != -INFINITY ? all : zeroes_masked || keys == 0 ? 1.0f : NOT_A_NUMBER;
      uint y_row = row + part * kPart + i;
      [[unroll]] for (uint j = 0; j < kBlocks; ++j) {
        vec4 result = sum[i][j];
        [[unroll]] for (uint p = 1; p < kRows / kPart; ++p) result = part == p ? sum[p * kPart + i][j] : result;
        result = result / all;
        uint to = (batch * rows + y_row) * columns + column + 32 * j;
#if WHOLE
        if (y_row < rows && column + 32 * j < columns) y[to / 4] = result;
#else
        [[unroll]] for (uint n = 0; n < 4; ++n)
          if (y_row < rows && column + 32 * j + n < columns) y[to + n] = result[n];
#endif
      }
    }
  }
}
