// SPDX-License-Identifier: Apache-2.0
// Images of other sizes: the nearest pixel, or (LINEAR) a mean of four, weighted by their distance.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  uint in_height, in_width, out_height, out_width;
  float row_scale, row_offset, column_scale, column_offset;
END_PUSH

KERNEL2(READS, float, x, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint row = i / push.out_width;
  uint column = i - row * push.out_width;
  uint image = row / push.out_height;
  row -= image * push.out_height;
  float v = max((float(row) + push.row_offset) * push.row_scale - push.row_offset, 0.0f);
  float h = max((float(column) + push.column_offset) * push.column_scale - push.column_offset, 0.0f);
  uint top = min(uint(v), push.in_height - 1), left = min(uint(h), push.in_width - 1);
  uint at = (image * push.in_height + top) * push.in_width + left;
#if LINEAR
  float below = min(max(v - float(top), 0.0f), 1.0f), after = min(max(h - float(left), 0.0f), 1.0f);
  uint down = top + 1 < push.in_height ? push.in_width : 0, right = left + 1 < push.in_width ? 1 : 0;
  float upper = (1.0f - after) * LOAD(x, at) + after * LOAD(x, at + right);
  float lower = (1.0f - after) * LOAD(x, at + down) + after * LOAD(x, at + down + right);
  STORE(y, i, (1.0f - below) * upper + below * lower)
#else
  STORE(y, i, LOAD(x, at))
#endif
}
