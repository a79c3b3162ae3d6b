// SPDX-License-Identifier: Apache-2.0
// A tensor with a border of `value`. Negative borders cut off elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;  // results
  uint rank;
  float value;
  uint sizes[6];     // of the result, the last dimension first
  uint in_sizes[6];  // of the tensor
  int before[6];
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint rest = index, from = 0, stride = 1;
  bool is_inside = true;
  for (uint d = 0; d < rank; ++d) {
    uint above = rest / sizes[d];
    int position = int(rest - above * sizes[d]) - before[d];
    is_inside = is_inside && position >= 0 && position < int(in_sizes[d]);
    from += uint(position) * stride;
    stride *= in_sizes[d];
    rest = above;
  }
  y[index] = is_inside ? x[from] : value;
}
