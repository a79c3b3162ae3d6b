// SPDX-License-Identifier: Apache-2.0
// FUNCTION of pairs of elements. BROADCAST=0: operands of the same sizes; 1: operands with strides, up to four elements of
// the last dimension by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

#if BROADCAST
BEGIN_PUSH
  uint count;  // invocations
  uint rank;
  float p0;
  uint sizes[6], a_strides[6], b_strides[6];  // of `rank` dimensions, the last one first
END_PUSH

KERNEL3(READS, float, a, READS, float, b, WRITES, float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint groups = (push.sizes[0] + 3) / 4;
  uint rest = index / groups;
  uint first = (index - rest * groups) * 4;
  uint at = rest * push.sizes[0] + first, i = first * push.a_strides[0], j = first * push.b_strides[0];
  ROLLED for (uint d = 1; d < push.rank; ++d) {
    uint above = rest / push.sizes[d];
    uint position = rest - above * push.sizes[d];
    i += position * push.a_strides[d];
    j += position * push.b_strides[d];
    rest = above;
  }
  uint end = min(4u, push.sizes[0] - first);
#ifdef HALF_FUNCTION
  if (IN_HALF) {
    half4 v = HALF4(NARROW(0.0f)), w = v;
    UNROLL for (uint n = 0; n < 4; ++n) {
      if (n < end) {
        HALF_ELEMENT(v, n) = LOAD_HALF(a, i);
        HALF_ELEMENT(w, n) = LOAD_HALF(b, j);
      }
      i += push.a_strides[0];
      j += push.b_strides[0];
    }
    half4 results = HALF_FUNCTION(v, w, push.p0);
    UNROLL for (uint n = 0; n < 4; ++n) if (n < end) STORE_HALF(y, at + n, HALF_ELEMENT(results, n))
    return;
  }
#endif
  for (uint n = 0; n < end; ++n) {
    float result = FUNCTION(LOAD(a, i), LOAD(b, j), push.p0);
    STORE(y, at + n, result)
    i += push.a_strides[0];
    j += push.b_strides[0];
  }
}
#else
BEGIN_PUSH
  uint count;  // groups of four elements
  float p0;
END_PUSH

KERNEL3(READS, vec4, a, READS, vec4, b, WRITES, vec4, y) {
  uint i = linear_index();
  if (i >= push.count) return;
#ifdef HALF_FUNCTION
  if (IN_HALF) {
    half4 rounded = HALF_FUNCTION(LOAD_HALVES(a, i), LOAD_HALVES(b, i), push.p0);
    STORE_HALVES(y, i, rounded)
    return;
  }
#endif
  vec4 v = LOAD4(a, i), w = LOAD4(b, i);
  vec4 result = VEC4(FUNCTION(v.x, w.x, push.p0), FUNCTION(v.y, w.y, push.p0), FUNCTION(v.z, w.z, push.p0),
                     FUNCTION(v.w, w.w, push.p0));
  STORE4(y, i, result)
}
#endif
