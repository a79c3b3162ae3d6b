// SPDX-License-Identifier: Apache-2.0
// A tensor of which parts along one dimension are replaced, by index. Negative indices count from the end. Of equal indices the
// last one counts; one that the dimension does not have replaces nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  uint inner;  // elements after the dimension
  uint taken;  // indices
  uint size;   // of the dimension
  uint words;  // of an index: 2 for 64 bits, low word first; 0: one word, a float
END_PUSH

KERNEL4(READS, float, x, READS, float, values, READS, uint, indices, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint row = i / push.inner;
  uint outer = row / push.size;
  uint at = row - outer * push.size;
  uint found = push.taken;
  for (uint n = 0; n < push.taken; ++n) {
    uint index = indices[n * max(push.words, 1u)];
    bool is_known = push.words < 2 || indices[n * push.words + 1] == (index >> 31 != 0 ? 0xffffffffu : 0u);
    if (push.words == 0) {
      float number = uintBitsToFloat(index);
      number = number < 0.0f ? number + float(push.size) : number;
      is_known = number >= 0.0f && number < float(push.size);
      index = is_known ? uint(number) : 0;
    } else if (index >> 31 != 0) {
      index += push.size;
    }
    found = is_known && index == at ? n : found;
  }
  bool is_replaced = found < push.taken;
  uint from = is_replaced ? (outer * push.taken + found) * push.inner + (i - row * push.inner) : 0;
  float number = is_replaced ? LOAD(values, from) : LOAD(x, i);
  STORE(y, i, number)
}
