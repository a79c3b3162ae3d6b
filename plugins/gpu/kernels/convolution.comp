// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution. Each invocation computes eight channels of four neighbouring pixels. Filters are packed as
// [groups][channels / 8][inputs * height * width][8], so eight factors are two loads that a whole workgroup shares.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) readonly buffer Filters { vec4 filters[]; };
layout(set = 0, binding = 2) readonly buffer Bias { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint groups, inputs, channels;  // inputs and channels of one group
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
  uint blocks = (channels + 7) / 8;
  uint group = gl_WorkGroupID.y / blocks, block = gl_WorkGroupID.y - group * blocks;
  uint batch = gl_WorkGroupID.z;
  vec4 sum[8];
  [[unroll]] for (uint i = 0; i < 8; ++i) sum[i] = vec4(0);
  uint filter_at = gl_WorkGroupID.y * inputs * kernel_height * kernel_width * 2;
  int left = int(out_x * stride_width) - padding_width;
  int top = int(out_y * stride_height) - padding_height;
  uvec4 columns = uvec4(0, 1, 2, 3) * stride_width;
  for (uint c = 0; c < inputs; ++c) {
    uint plane = ((batch * groups + group) * inputs + c) * height * width;
    for (uint ky = 0; ky < kernel_height; ++ky) {
      int row = top + int(ky * dilation_height);
      bool has_row = row >= 0 && row < int(height);
      uint line = plane + uint(clamp(row, 0, int(height) - 1)) * width;
      for (uint kx = 0; kx < kernel_width; ++kx) {
        vec4 first = filters[filter_at], second = filters[filter_at + 1];
        filter_at += 2;
        ivec4 column = left + int(kx * dilation_width) + ivec4(columns);
        uvec4 at = line + uvec4(clamp(column, ivec4(0), ivec4(int(width) - 1)));
        bvec4 is_inside = bvec4(uvec4(greaterThanEqual(column, ivec4(0))) & uvec4(lessThan(column, ivec4(int(width)))) &
                                uvec4(has_row));
        vec4 pixels = mix(vec4(0), vec4(x[at.x], x[at.y], x[at.z], x[at.w]), is_inside);
        [[unroll]] for (uint i = 0; i < 4; ++i) {
          sum[i] += first[i] * pixels;
          sum[i + 4] += second[i] * pixels;
        }
      }
    }
  }
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    uint channel = block * 8 + i;
    if (channel >= channels) break;
    channel += group * channels;
    float start = has_bias != 0 ? bias[channel] : 0.0;
    uint to = ((batch * groups * channels + channel) * out_height + out_y) * out_width + out_x;
    [[unroll]] for (uint n = 0; n < 4; ++n)
      if (out_x + n < out_width) y[to + n] = limited(sum[i][n] + start, low, high);
  }
}
