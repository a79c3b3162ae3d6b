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
END_PUSH

KERNEL3(READS, float, x, READS, float, indices, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint row = i / push.inner;
  uint outer = row / push.taken;
  float given = indices[push.is_shared != 0 ? row - outer * push.taken : i];
  float at = given < 0.0 ? given + float(push.size) : given;
  bool is_known = at >= 0.0 && at < float(push.size);
  uint from = is_known ? min(uint(at), push.size - 1) : 0;
  y[i] = is_known ? x[(outer * push.size + from) * push.inner + (i - row * push.inner)] : NOT_A_NUMBER;
}
