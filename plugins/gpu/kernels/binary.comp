// SPDX-License-Identifier: Apache-2.0
// FUNCTION of pairs of elements. BROADCAST=0: operands of the same sizes; 1: operands with strides, up to four elements of
// the last dimension by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

#if BROADCAST
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;  // invocations
  uint rank;
  float p0;
  uint sizes[6], a_strides[6], b_strides[6];  // of `rank` dimensions, the last one first
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint groups = (sizes[0] + 3) / 4;
  uint rest = index / groups;
  uint first = (index - rest * groups) * 4;
  uint at = rest * sizes[0] + first, i = first * a_strides[0], j = first * b_strides[0];
  for (uint d = 1; d < rank; ++d) {
    uint above = rest / sizes[d];
    uint position = rest - above * sizes[d];
    i += position * a_strides[d];
    j += position * b_strides[d];
    rest = above;
  }
  uint end = min(4, sizes[0] - first);
  for (uint n = 0; n < end; ++n) {
    y[at + n] = FUNCTION(a[i], b[j], p0);
    i += a_strides[0];
    j += b_strides[0];
  }
}
#else
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) writeonly buffer Out { vec4 y[]; };
layout(push_constant) uniform Push {
  uint count;  // groups of four elements
  float p0;
};

void main() {
  uint i = linear_index();
  if (i >= count) return;
  vec4 v = a[i], w = b[i];
  y[i] = vec4(FUNCTION(v.x, w.x, p0), FUNCTION(v.y, w.y, p0), FUNCTION(v.z, w.z, p0), FUNCTION(v.w, w.w, p0));
}
#endif
