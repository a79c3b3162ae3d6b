// SPDX-License-Identifier: Apache-2.0
// y = limited(alpha * a * b + beta * bias). Each invocation computes ROWS rows of VECTORS times four columns in registers:
// no shared memory and no barrier, which cost CPU drivers ten to thirty times the product. The rows of a are the same for
// a whole workgroup. WHOLE=1: columns are a multiple of four.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer A { float a[]; };
#if WHOLE
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 3) writeonly buffer Out { vec4 y[]; };
#else
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float y[]; };
#endif
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
layout(push_constant) uniform Push {
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // elements from one matrix of a batch to the next
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;
};

void main() {
  uint column = gl_GlobalInvocationID.x * (4 * VECTORS);
  if (column >= columns) return;
  uint row = gl_WorkGroupID.y * ROWS;
  uint batch = gl_WorkGroupID.z;
  uint a_at[ROWS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i) a_at[i] = batch * a_batch + min(row + i, rows - 1) * depth;
  // Columns after the last are computed from it again, and not stored.
#if WHOLE
  uint b_at[VECTORS];
  [[unroll]] for (uint j = 0; j < VECTORS; ++j) b_at[j] = (batch * b_batch + min(column + 4 * j, columns - 4)) / 4;
#else
  uvec4 b_at[VECTORS];
  [[unroll]] for (uint j = 0; j < VECTORS; ++j)
    b_at[j] = batch * b_batch + min(column + 4 * j + uvec4(0, 1, 2, 3), uvec4(columns - 1));
#endif
  vec4 sum[ROWS][VECTORS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < VECTORS; ++j) sum[i][j] = vec4(0);
  for (uint k = 0; k < depth; ++k) {
    vec4 factor[VECTORS];
    [[unroll]] for (uint j = 0; j < VECTORS; ++j) {
#if WHOLE
      factor[j] = b[b_at[j] + k * (b_row / 4)];
#else
      uvec4 at = b_at[j] + k * b_row;
      factor[j] = vec4(b[at.x], b[at.y], b[at.z], b[at.w]);
#endif
    }
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      float scale = a[a_at[i] + k];
      [[unroll]] for (uint j = 0; j < VECTORS; ++j) sum[i][j] += scale * factor[j];
    }
  }
  vec4 start[VECTORS];
  [[unroll]] for (uint j = 0; j < VECTORS; ++j) {
    start[j] = vec4(0);
    if (has_bias != 0 && bias_row == 0) {
      uvec4 at = min(column + 4 * j + uvec4(0, 1, 2, 3), uvec4(columns - 1)) * bias_column;
      start[j] = beta * vec4(bias[at.x], bias[at.y], bias[at.z], bias[at.w]);
    }
  }
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    if (row + i >= rows) break;
    float row_start = has_bias != 0 && bias_row != 0 ? beta * bias[(row + i) * bias_row] : 0.0;
    [[unroll]] for (uint j = 0; j < VECTORS; ++j) {
      uint first = column + 4 * j;
      if (first >= columns) break;
      vec4 result = alpha * sum[i][j] + (start[j] + row_start);
      result = vec4(limited(result.x, low, high), limited(result.y, low, high), limited(result.z, low, high),
                    limited(result.w, low, high));
      uint to = batch * y_batch + (row + i) * columns + first;
#if WHOLE
      y[to / 4] = result;
#else
      [[unroll]] for (uint n = 0; n < 4; ++n)
        if (first + n < columns) y[to + n] = result[n];
#endif
    }
  }
}
