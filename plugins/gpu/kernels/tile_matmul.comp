// SPDX-License-Identifier: Apache-2.0
// y = limited(alpha * a * b + beta * bias), for CPU drivers that run a subgroup of eight in one vector register. A workgroup
// is one subgroup. It computes 16 rows of 32 (WHOLE=1) or 16 columns. Each invocation loads numbers of one row of a, and
// shuffles broadcast them. Such drivers compute texel fetches for all lanes at once, other loads lane by lane.
// WHOLE=1: depth, columns and strides are multiples of four.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tile.glsl"

layout(set = 0, binding = 0) uniform samplerBuffer a;
layout(set = 0, binding = 1) uniform samplerBuffer b;
layout(set = 0, binding = 2) uniform samplerBuffer bias;
layout(set = 0, binding = 3) uniform samplerBuffer residual;
#if WHOLE
#define NUMBERS vec4  // four neighbouring columns of an invocation
#define COLUMNS 32    // of a workgroup
layout(set = 0, binding = 4) writeonly buffer Out { vec4 y[]; };
#else
#define NUMBERS vec2  // a column of an invocation, and the one eight columns after it
#define COLUMNS 16
layout(set = 0, binding = 4) writeonly buffer Out { float y[]; };
#endif
layout(push_constant) uniform Push {
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // elements from one matrix of a batch to the next
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;
  RESIDUAL_PUSH
} push;

const uint kRows = 16;
// Steps of the depth that are added up on their own: the error of a sum grows with the root of the length of its chains.
const uint kSteps = 256;

float bias_at(uint i) { return texelFetch(bias, int(i)).x; }

// Adds four steps of the depth to a row, whose numbers are in lane `lane` of `steps`. In pairs: as many operations as one after
// the other, and a chain of sums of a quarter of the length, so the result is nearer to the exact one.
#define ROW(row, steps, lane)                                                                           \
  chain[row] += (subgroupShuffle(steps.x, lane) * factor[0] + subgroupShuffle(steps.y, lane) * factor[1]) + \
                (subgroupShuffle(steps.z, lane) * factor[2] + subgroupShuffle(steps.w, lane) * factor[3]);
#define EIGHT_ROWS(row, steps)                                                        \
  ROW(row, steps, 0) ROW(row + 1, steps, 1) ROW(row + 2, steps, 2) ROW(row + 3, steps, 3) \
  ROW(row + 4, steps, 4) ROW(row + 5, steps, 5) ROW(row + 6, steps, 6) ROW(row + 7, steps, 7)

void main() {
  // No invocation returns early: shuffles read all lanes.
  uint rows = push.rows, columns = push.columns, depth = push.depth, b_row = push.b_row, y_batch = push.y_batch;
  uint bias_row = push.bias_row, bias_column = push.bias_column;
  float alpha = push.alpha, beta = push.beta, low = push.low, high = push.high;
  bool has_residual = HAS_RESIDUAL != 0;
  float sum_low = push.sum_low, sum_high = push.sum_high;
  bool has_row_bias = push.has_bias != 0 && bias_row != 0, has_column_bias = push.has_bias != 0 && bias_row == 0;
  uint lane = gl_SubgroupInvocationID;
  uint row = gl_WorkGroupID.y * kRows;
  uint batch = gl_WorkGroupID.z;
  // Rows and columns after the last are computed from it again, and not stored.
  uint upper_at = batch * push.a_batch + min(row + lane, rows - 1) * depth;
  uint lower_at = batch * push.a_batch + min(row + 8 + lane, rows - 1) * depth;
#if WHOLE
  uint column = gl_WorkGroupID.x * COLUMNS + gl_LocalInvocationID.x * 4;
  uint b_at = batch * push.b_batch + min(column, columns - 4);
#else
  uint column = gl_WorkGroupID.x * COLUMNS + gl_LocalInvocationID.x;
  uvec2 b_at = batch * push.b_batch + min(column + uvec2(0, 8), uvec2(columns - 1));
#endif
  NUMBERS sum[kRows], chain[kRows];
  [[unroll]] for (uint i = 0; i < kRows; ++i) sum[i] = NUMBERS(0);
  for (uint first_step = 0; first_step < depth; first_step += kSteps) {
  uint end = min(first_step + kSteps, depth);
  [[unroll]] for (uint i = 0; i < kRows; ++i) chain[i] = NUMBERS(0);
  for (uint k = first_step; k < end; k += 4) {
    vec4 upper, lower;  // numbers of a
    NUMBERS factor[4];
#if WHOLE
    upper = texelFetch(a, int((upper_at + k) / 4));
    lower = texelFetch(a, int((lower_at + k) / 4));
    [[unroll]] for (uint n = 0; n < 4; ++n) factor[n] = texelFetch(b, int((b_at + (k + n) * b_row) / 4));
#else
    [[unroll]] for (uint n = 0; n < 4; ++n) {
      bool is_inside = k + n < depth;
      uint step = is_inside ? k + n : 0;
      uvec2 at = b_at + step * b_row;
      float upper_number = texelFetch(a, int(upper_at + step)).x, lower_number = texelFetch(a, int(lower_at + step)).x;
      vec2 numbers = vec2(texelFetch(b, int(at.x)).x, texelFetch(b, int(at.y)).x);
      upper[n] = is_inside ? upper_number : 0.0f;
      lower[n] = is_inside ? lower_number : 0.0f;
      factor[n] = is_inside ? numbers : vec2(0);
    }
#endif
    EIGHT_ROWS(0, upper)
    EIGHT_ROWS(8, lower)
  }
  [[unroll]] for (uint i = 0; i < kRows; ++i) sum[i] += chain[i];
  }
#if WHOLE
  uvec4 at = min(column + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * bias_column;
  NUMBERS start = vec4(bias_at(at.x), bias_at(at.y), bias_at(at.z), bias_at(at.w));
#else
  uvec2 at = min(column + uvec2(0, 8), uvec2(columns - 1)) * bias_column;
  NUMBERS start = vec2(bias_at(at.x), bias_at(at.y));
#endif
  start = has_column_bias ? beta * start : NUMBERS(0);
  uint parts = min((rows - row + kPart - 1) / kPart, kRows / kPart);
  for (uint part = 0; part < parts; ++part) {
    [[unroll]] for (uint i = 0; i < kPart; ++i) {
      uint y_row = row + part * kPart + i;
      float row_bias = bias_at(min(y_row, rows - 1) * bias_row);
      float row_start = has_row_bias ? beta * row_bias : 0.0f;
      NUMBERS total;
      CHOOSE_SUM(total, sum, part, i, kRows)
      NUMBERS result = clamped_numbers(alpha * total + (start + row_start), low, high);
      uint to = batch * y_batch + y_row * columns + column;
      bool has_number = has_residual && y_row < rows && column < columns;
#if WHOLE
      ADD_FETCHED(result, texelFetch(residual, has_number ? int(to / 4) : 0))
      if (y_row < rows && column < columns) y[to / 4] = result;
#else
      uvec2 from = has_number ? to + uvec2(0, column + 8 < columns ? 8 : 0) : uvec2(0);
      ADD_FETCHED(result, vec2(texelFetch(residual, int(from.x)).x, texelFetch(residual, int(from.y)).x))
      if (y_row < rows && column < columns) y[to] = result.x;
      if (y_row < rows && column + 8 < columns) y[to + 8] = result.y;
#endif
    }
  }
}
