// SPDX-License-Identifier: Apache-2.0
// FUNCTION of each element. Buffers are padded to 16 bytes, so the last four elements may reach past the end.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

BEGIN_PUSH
  uint count;  // groups of four elements
  float p0, p1;
END_PUSH

KERNEL2(READS, vec4, x, WRITES, vec4, y) {
  uint i = linear_index();
  if (i >= push.count) return;
#ifdef HALF_FUNCTION
  if (IN_HALF) {
    half4 rounded = HALF_FUNCTION(LOAD_HALVES(x, i), push.p0, push.p1);
    STORE_HALVES(y, i, rounded)
    return;
  }
#endif
  vec4 v = LOAD4(x, i);
  vec4 result = VEC4(FUNCTION(v.x, push.p0, push.p1), FUNCTION(v.y, push.p0, push.p1), FUNCTION(v.z, push.p0, push.p1),
                     FUNCTION(v.w, push.p0, push.p1));
  STORE4(y, i, result)
}
