// SPDX-License-Identifier: Apache-2.0
// Moves elements between two strided views, bit by bit if both have as many bits; up to four of the last dimension by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // invocations
  uint rank;
  uint from, to;                                // first elements
  uint sizes[6], from_strides[6], to_strides[6];  // of `rank` dimensions, the last one first
END_PUSH

KERNEL2(READS, uint, x, WRITES, uint, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint groups = (push.sizes[0] + 3) / 4;
  uint rest = index / groups;
  uint first = (index - rest * groups) * 4;
  uint i = push.from + first * push.from_strides[0], j = push.to + first * push.to_strides[0];
  ROLLED for (uint d = 1; d < push.rank; ++d) {
    uint above = rest / push.sizes[d];
    uint position = rest - above * push.sizes[d];
    i += position * push.from_strides[d];
    j += position * push.to_strides[d];
    rest = above;
  }
  uint end = min(4u, push.sizes[0] - first);
  for (uint n = 0; n < end; ++n) {
    MOVE(y, j, x, i)
    i += push.from_strides[0];
    j += push.to_strides[0];
  }
}
