// SPDX-License-Identifier: Apache-2.0
// Moves elements between two strided views, bit by bit; up to four of the last dimension by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { uint x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { uint y[]; };
layout(push_constant) uniform Push {
  uint count;  // invocations
  uint rank;
  uint from, to;                                // first elements
  uint sizes[6], from_strides[6], to_strides[6];  // of `rank` dimensions, the last one first
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint groups = (sizes[0] + 3) / 4;
  uint rest = index / groups;
  uint first = (index - rest * groups) * 4;
  uint i = from + first * from_strides[0], j = to + first * to_strides[0];
  for (uint d = 1; d < rank; ++d) {
    uint above = rest / sizes[d];
    uint position = rest - above * sizes[d];
    i += position * from_strides[d];
    j += position * to_strides[d];
    rest = above;
  }
  uint end = min(4, sizes[0] - first);
  for (uint n = 0; n < end; ++n) {
    y[j] = x[i];
    i += from_strides[0];
    j += to_strides[0];
  }
}
