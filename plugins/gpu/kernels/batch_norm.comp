// SPDX-License-Identifier: Apache-2.0
// Batch norm with given statistics: (x - mean) / sqrt(variance + eps) * weight + bias, by channel.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) readonly buffer Weight { float weight[]; };
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = 3) readonly buffer Mean { float mean[]; };
layout(set = 0, binding = 4) readonly buffer Variance { float variance[]; };
layout(set = 0, binding = 5) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;  // elements
  uint channels, inner;
  float eps;
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint channel = (index / inner) % channels;
  y[index] = (x[index] - mean[channel]) * (1.0 / sqrt(variance[channel] + eps)) * weight[channel] + bias[channel];
}
