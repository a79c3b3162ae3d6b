// SPDX-License-Identifier: Apache-2.0
// The element of a where the condition is not 0, else that of b. Buffers are padded to 16 bytes.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // groups of four elements
END_PUSH

KERNEL4(READS, vec4, condition, READS, uvec4, a, READS, uvec4, b, WRITES, uvec4, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  vec4 c = LOAD4(condition, i);
#ifdef HALF_ARITHMETIC
  if (IS_HALF(a) && IS_HALF(b) && IS_HALF(y)) {
    half4 yes = RAW_HALVES(a, i), no = RAW_HALVES(b, i);
    WRITE_RAW4(y, i, HALF4(c.x != 0.0f ? yes.x : no.x, c.y != 0.0f ? yes.y : no.y, c.z != 0.0f ? yes.z : no.z, c.w != 0.0f ? yes.w : no.w))
    return;
  }
#endif
  uvec4 v = LOAD_BITS4(a, i), w = LOAD_BITS4(b, i);
  uvec4 bits = UVEC4(c.x != 0.0f ? v.x : w.x, c.y != 0.0f ? v.y : w.y, c.z != 0.0f ? v.z : w.z, c.w != 0.0f ? v.w : w.w);
  STORE_BITS4(y, i, bits)
}
