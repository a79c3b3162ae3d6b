// SPDX-License-Identifier: Apache-2.0
// Means over windows that divide an image into out_height times out_width parts.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  uint height, width, out_height, out_width;
END_PUSH

// End of part `i` of so many parts.
uint part_end(uint i, uint size, uint parts) { return ((i + 1) * size + parts - 1) / parts; }

KERNEL2(READS, float, x, WRITES, float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint line = index / push.out_width, plane = line / push.out_height;
  uint column = index - line * push.out_width, row = line - plane * push.out_height;
  uint top = row * push.height / push.out_height, bottom = part_end(row, push.height, push.out_height);
  uint left = column * push.width / push.out_width, right = part_end(column, push.width, push.out_width);
  float total = 0.0f;
  for (uint i = top; i < bottom; ++i) {
    precise float part = 0.0f;
    for (uint j = left; j < right; ++j) part += LOAD(x, (plane * push.height + i) * push.width + j);
    total += part;
  }
  float mean = divided(total, float((bottom - top) * (right - left)));
  STORE(y, index, mean)
}
