// SPDX-License-Identifier: Apache-2.0
// FUNCTION of each element. Buffers are padded to 16 bytes, so the last four elements may reach past the end.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

layout(set = 0, binding = 0) readonly buffer In { vec4 x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { vec4 y[]; };
layout(push_constant) uniform Push {
  uint count;  // groups of four elements
  float p0, p1;
};

void main() {
  uint i = linear_index();
  if (i >= count) return;
  vec4 v = x[i];
  y[i] = vec4(FUNCTION(v.x, p0, p1), FUNCTION(v.y, p0, p1), FUNCTION(v.z, p0, p1), FUNCTION(v.w, p0, p1));
}
