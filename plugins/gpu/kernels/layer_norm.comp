// SPDX-License-Identifier: Apache-2.0
// Layer norm of contiguous rows; one row by each invocation. The variance is that of the differences from the mean.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) readonly buffer Weight { float weight[]; };
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;   // rows
  uint length;  // elements of a row
  float eps;
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint from = index * length;
  float total = 0.0, part = 0.0;
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) part += x[from + i];
    if ((first & 63) == 60) {
      total += part;
      part = 0.0;
    }
  }
  float mean = (total + part) / float(length);
  float squares = 0.0;
  part = 0.0;
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) {
      float difference = x[from + i] - mean;
      part += difference * difference;
    }
    if ((first & 63) == 60) {
      squares += part;
      part = 0.0;
    }
  }
  float scale = 1.0 / sqrt((squares + part) / float(length) + eps);
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) y[from + i] = (x[from + i] - mean) * scale * weight[i] + bias[i];
  }
}
