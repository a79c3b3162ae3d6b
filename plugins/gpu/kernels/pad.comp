// SPDX-License-Identifier: Apache-2.0
// A tensor with a border of `value`. Negative borders cut off elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  uint rank;
  float value;
  uint sizes[6];     // of the result, the last dimension first
  uint in_sizes[6];  // of the tensor
  int before[6];
END_PUSH

KERNEL2(READS, float, x, WRITES, float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint rest = index, from = 0, stride = 1;
  bool is_inside = true;
  ROLLED for (uint d = 0; d < push.rank; ++d) {
    uint above = rest / push.sizes[d];
    int position = int(rest - above * push.sizes[d]) - push.before[d];
    is_inside = is_inside && position >= 0 && position < int(push.in_sizes[d]);
    from += uint(position) * stride;
    stride *= push.in_sizes[d];
    rest = above;
  }
  float number = is_inside ? LOAD(x, from) : push.value;
  STORE(y, index, number)
}
