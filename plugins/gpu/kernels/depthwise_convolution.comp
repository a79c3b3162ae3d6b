// SPDX-License-Identifier: Apache-2.0
// Convolution with one filter for each channel. Each invocation computes four neighbouring pixels of a channel.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) readonly buffer Filters { float filters[]; };
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint channels;
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
};

void main() {
  uint tiles = (out_width + 3) / 4;
  uint tile = gl_GlobalInvocationID.x;
  if (tile >= tiles * out_height) return;
  uint out_y = tile / tiles, out_x = (tile - out_y * tiles) * 4;
  uint channel = gl_WorkGroupID.y;
  uint plane = (gl_WorkGroupID.z * channels + channel) * height * width;
  uint filter_at = channel * kernel_height * kernel_width;
  int left = int(out_x * stride_width) - padding_width;
  int top = int(out_y * stride_height) - padding_height;
  vec4 sum = vec4(0);
  for (uint ky = 0; ky < kernel_height; ++ky) {
    int row = top + int(ky * dilation_height);
    bool has_row = row >= 0 && row < int(height);
    uint line = plane + uint(clamp(row, 0, int(height) - 1)) * width;
    for (uint kx = 0; kx < kernel_width; ++kx) {
      float factor = filters[filter_at++];
      ivec4 column = left + int(kx * dilation_width) + ivec4(uvec4(0, 1, 2, 3) * stride_width);
      uvec4 at = line + uvec4(clamp(column, ivec4(0), ivec4(int(width) - 1)));
      bvec4 is_inside = bvec4(uvec4(greaterThanEqual(column, ivec4(0))) & uvec4(lessThan(column, ivec4(int(width)))) &
                              uvec4(has_row));
      sum += factor * mix(vec4(0), vec4(x[at.x], x[at.y], x[at.z], x[at.w]), is_inside);
    }
  }
  float start = has_bias != 0 ? bias[channel] : 0.0;
  uint to = ((gl_WorkGroupID.z * channels + channel) * out_height + out_y) * out_width + out_x;
  [[unroll]] for (uint n = 0; n < 4; ++n)
    if (out_x + n < out_width) y[to + n] = limited(sum[n] + start, low, high);
}
