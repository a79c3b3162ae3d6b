// SPDX-License-Identifier: Apache-2.0
// Elements along one dimension by index. Negative indices count from the end. One that the dimension does not have is NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  uint inner;  // elements after the dimension
  uint taken;  // size of the dimension in the result
  uint size;   // and in x
  uint is_shared;
  uint words;  // of an index: 2 for 64 bits, low word first; 0: one word, a float
END_PUSH

KERNEL3(READS, float, x, READS, uint, indices, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint row = i / push.inner;
  uint outer = row / push.taken;
  uint which = push.is_shared != 0 ? row - outer * push.taken : i;
  uint from = indices[which * max(push.words, 1u)];
  bool is_known = push.words < 2 || indices[which * push.words + 1] == (from >> 31 != 0 ? 0xffffffffu : 0u);
  if (push.words == 0) {
    float given = uintBitsToFloat(from);
    float counted = given < 0.0f ? given + float(push.size) : given;
    is_known = counted >= 0.0f && counted < float(push.size);
    from = is_known ? uint(counted) : 0;
  } else if (from >> 31 != 0) {
    from += push.size;  // wraps: below -size it is still too large
  }
  is_known = is_known && from < push.size;
  from = is_known ? from : 0;
  uint at = (outer * push.size + from) * push.inner + (i - row * push.inner);
  float number = is_known ? LOAD(x, at) : NOT_A_NUMBER;
  STORE(y, i, number)
}
