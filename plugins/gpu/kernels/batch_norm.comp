// SPDX-License-Identifier: Apache-2.0
// Batch norm with given statistics: (x - mean) / sqrt(variance + eps) * weight + bias, by channel.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // elements
  uint channels, inner;
  float eps;
END_PUSH

KERNEL6(READS, float, x, READS, float, weight, READS, float, bias, READS, float, mean, READS, float, variance, WRITES,
        float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint channel = (index / push.inner) % push.channels;
  float scale = 1.0f / sqrt(LOAD(variance, channel) + push.eps);
  float difference = LOAD(x, index) - LOAD(mean, channel);
  STORE(y, index, difference * scale * LOAD(weight, channel) + LOAD(bias, channel))
}
