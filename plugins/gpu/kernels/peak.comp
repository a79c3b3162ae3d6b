// SPDX-License-Identifier: Apache-2.0
// Multiplications and additions of numbers in registers, in chains that do not depend on each other: the most that a driver's
// compiler gets out of a device. Only the roofline benchmark runs it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // invocations
  uint turns;
END_PUSH

KERNEL2(READS, float, x, WRITES, vec4, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint turns = push.turns;
  float factor = x[0], term = x[1];
  vec4 sum[CHAINS];
  UNROLL for (uint c = 0; c < CHAINS; ++c) sum[c] = VEC4(float(c));
  for (uint turn = 0; turn < turns; ++turn)
    UNROLL for (uint c = 0; c < CHAINS; ++c) sum[c] = sum[c] * factor + term;
  vec4 total = sum[0];
  UNROLL for (uint c = 1; c < CHAINS; ++c) total += sum[c];
  y[i] = total;
}
