// SPDX-License-Identifier: Apache-2.0
// y = limited(alpha * a * b + beta * bias), for CPU drivers that run a subgroup of eight in one vector register. A workgroup
// is one subgroup. It computes 16 rows of 32 (WHOLE=1) or 16 columns. Each invocation loads numbers of one row of a, and
// shuffles broadcast them. Such drivers compute texel fetches for all lanes at once, other loads lane by lane.
// WHOLE=1: depth, columns and strides are multiples of four.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "kernel.glsl"

layout(set = 0, binding = 0) uniform samplerBuffer a;
layout(set = 0, binding = 1) uniform samplerBuffer b;
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
#if WHOLE
#define NUMBERS vec4  // columns of an invocation: four neighbours
#define GROUPS 1      // ... so many times
#define COLUMNS 32    // of a workgroup
#define LIMITED(v) vec4(limited(v.x, low, high), limited(v.y, low, high), limited(v.z, low, high), limited(v.w, low, high))
layout(set = 0, binding = 3) writeonly buffer Out { vec4 y[]; };
#else
#define NUMBERS float
#define GROUPS 2
#define COLUMNS 16
#define LIMITED(v) limited(v, low, high)
layout(set = 0, binding = 3) writeonly buffer Out { float y[]; };
#endif
layout(push_constant) uniform Push {
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // elements from one matrix of a batch to the next
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;
};

const uint kRows = 16;
// Steps of the depth that are added up on their own: the error of a sum grows with the root of the length of its chains.
const uint kPart = 256;

// Adds four steps of the depth to row `i` of the eight rows whose numbers are in `w`. In pairs: as many operations as one after the
// other, and a chain of sums of a quarter of the length, so the result is nearer to the exact one.
#define ROW(r, i)                                                                                            \
  [[unroll]] for (uint j = 0; j < GROUPS; ++j)                                                               \
    sum[r * 8 + i][j] +=                                                                                     \
        (subgroupShuffle(w[r][0], i) * factor[0][j] + subgroupShuffle(w[r][1], i) * factor[1][j]) +          \
        (subgroupShuffle(w[r][2], i) * factor[2][j] + subgroupShuffle(w[r][3], i) * factor[3][j]);
#define EIGHT_ROWS(r) \
  ROW(r, 0) ROW(r, 1) ROW(r, 2) ROW(r, 3) ROW(r, 4) ROW(r, 5) ROW(r, 6) ROW(r, 7)

void main() {
  // No invocation returns early: shuffles read all lanes.
  uint lane = gl_SubgroupInvocationID;
  uint column = gl_WorkGroupID.x * COLUMNS + gl_LocalInvocationID.x * (COLUMNS / 8 / GROUPS);
  uint row = gl_WorkGroupID.y * kRows;
  uint batch = gl_WorkGroupID.z;
  // Rows and columns after the last are computed from it again, and not stored.
  uint a_at[2], b_at[GROUPS];
  [[unroll]] for (uint r = 0; r < 2; ++r) a_at[r] = batch * a_batch + min(row + r * 8 + lane, rows - 1) * depth;
  [[unroll]] for (uint j = 0; j < GROUPS; ++j)
    b_at[j] = batch * b_batch + min(column + 8 * j, columns - (WHOLE != 0 ? 4 : 1));
  NUMBERS total[kRows][GROUPS], sum[kRows][GROUPS];
  [[unroll]] for (uint i = 0; i < kRows; ++i)
    [[unroll]] for (uint j = 0; j < GROUPS; ++j) total[i][j] = NUMBERS(0);
  for (uint part = 0; part < depth; part += kPart) {
  [[unroll]] for (uint i = 0; i < kRows; ++i)
    [[unroll]] for (uint j = 0; j < GROUPS; ++j) sum[i][j] = NUMBERS(0);
  for (uint k = part; k < min(part + kPart, depth); k += 4) {
    vec4 w[2];
    NUMBERS factor[4][GROUPS];
#if WHOLE
    [[unroll]] for (uint r = 0; r < 2; ++r) w[r] = texelFetch(a, int((a_at[r] + k) / 4));
    [[unroll]] for (uint n = 0; n < 4; ++n) factor[n][0] = texelFetch(b, int((b_at[0] + (k + n) * b_row) / 4));
#else
    [[unroll]] for (uint r = 0; r < 2; ++r)
      [[unroll]] for (uint n = 0; n < 4; ++n) w[r][n] = k + n < depth ? texelFetch(a, int(a_at[r] + k + n)).x : 0.0;
    [[unroll]] for (uint n = 0; n < 4; ++n)
      [[unroll]] for (uint j = 0; j < GROUPS; ++j)
        factor[n][j] = k + n < depth ? texelFetch(b, int(b_at[j] + (k + n) * b_row)).x : 0.0;
#endif
    EIGHT_ROWS(0)
    EIGHT_ROWS(1)
  }
  [[unroll]] for (uint i = 0; i < kRows; ++i)
    [[unroll]] for (uint j = 0; j < GROUPS; ++j) total[i][j] += sum[i][j];
  }
  NUMBERS start[GROUPS];
  [[unroll]] for (uint j = 0; j < GROUPS; ++j) {
    start[j] = NUMBERS(0);
    if (has_bias != 0 && bias_row == 0) {
#if WHOLE
      uvec4 at = min(column + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * bias_column;
      start[j] = beta * vec4(bias[at.x], bias[at.y], bias[at.z], bias[at.w]);
#else
      start[j] = beta * bias[min(column + 8 * j, columns - 1) * bias_column];
#endif
    }
  }
  [[unroll]] for (uint i = 0; i < kRows; ++i) {
    // Loaded outside of branches, where the driver loads once for all lanes.
    float row_bias = bias[min(row + i, rows - 1) * bias_row];
    float row_start = has_bias != 0 && bias_row != 0 ? beta * row_bias : 0.0;
    [[unroll]] for (uint j = 0; j < GROUPS; ++j) {
      NUMBERS result = alpha * total[i][j] + (start[j] + row_start);
      result = LIMITED(result);
      uint to = batch * y_batch + (row + i) * columns + column + 8 * j;
      if (row + i < rows && column + 8 * j < columns) y[to / (WHOLE != 0 ? 4 : 1)] = result;
    }
  }
}
