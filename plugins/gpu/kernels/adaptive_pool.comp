// SPDX-License-Identifier: Apache-2.0
// Means over windows that divide an image into out_height times out_width parts.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;  // results
  uint height, width, out_height, out_width;
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint line = index / out_width, plane = line / out_height;
  uint column = index - line * out_width, row = line - plane * out_height;
  uint top = row * height / out_height, bottom = ((row + 1) * height + out_height - 1) / out_height;
  uint left = column * width / out_width, right = ((column + 1) * width + out_width - 1) / out_width;
  float total = 0.0;
  for (uint i = top; i < bottom; ++i) {
    precise float part = 0.0;
    for (uint j = left; j < right; ++j) part += x[(plane * height + i) * width + j];
    total += part;
  }
  y[index] = total / float((bottom - top) * (right - left));
}
