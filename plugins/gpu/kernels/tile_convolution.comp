// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution as tile_matmul.comp: a workgroup, which is one subgroup of eight, computes 16 channels of 16
// pixels. Filters are packed as [groups][channels / 8][inputs * height * width][8]. A fetch of each lane reads four numbers,
// so all lanes read eight channels of four steps.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "kernel.glsl"

layout(set = 0, binding = 0) uniform samplerBuffer x;
layout(set = 0, binding = 1) uniform samplerBuffer filters;
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

const uint kPart = 32;

// Adds four steps to channel `c` of eight channels: lane 2 n + c / 4 has those of step n. In pairs, as in tile_matmul.comp.
#define PRODUCT(r, c, n) (subgroupShuffle(w[r][c & 3], n * 2 + c / 4) * pixels[n][j])
#define CHANNEL(r, c)                               \
  [[unroll]] for (uint j = 0; j < 2; ++j)           \
    sum[r * 8 + c][j] += (PRODUCT(r, c, 0) + PRODUCT(r, c, 1)) + (PRODUCT(r, c, 2) + PRODUCT(r, c, 3));
#define EIGHT_CHANNELS(r)                                                                             \
  CHANNEL(r, 0) CHANNEL(r, 1) CHANNEL(r, 2) CHANNEL(r, 3) CHANNEL(r, 4) CHANNEL(r, 5) CHANNEL(r, 6) \
  CHANNEL(r, 7)

void main() {
  uint lane = gl_SubgroupInvocationID;
  uint blocks = (channels + 15) / 16, eights = (channels + 7) / 8;
  uint group = gl_WorkGroupID.y / blocks, block = gl_WorkGroupID.y - group * blocks;
  uint batch = gl_WorkGroupID.z;
  uint depth = inputs * kernel_height * kernel_width;
  uint count = out_height * out_width;
  uint pixel[2];
  int top[2], left[2];
  [[unroll]] for (uint j = 0; j < 2; ++j) {
    pixel[j] = gl_WorkGroupID.x * 16 + j * 8 + gl_LocalInvocationID.x;
    uint out_y = pixel[j] / out_width;
    top[j] = int(out_y * stride_height) - padding_height;
    left[j] = int((pixel[j] - out_y * out_width) * stride_width) - padding_width;
  }
  uint filter_at[2];
  [[unroll]] for (uint r = 0; r < 2; ++r)
    filter_at[r] = (group * eights + min(block * 2 + r, eights - 1)) * depth * 2 + lane;
  float total[16][2], sum[16][2];  // parts of kPart steps are added up on their own, as in tile_matmul.comp
  [[unroll]] for (uint i = 0; i < 16; ++i) total[i][0] = total[i][1] = 0.0;
  uint plane = (batch * groups + group) * inputs * height * width;
  uint ky = 0, kx = 0;  // of step k
  for (uint part = 0; part < depth; part += kPart) {
  [[unroll]] for (uint i = 0; i < 16; ++i) sum[i][0] = sum[i][1] = 0.0;
  for (uint k = part; k < min(part + kPart, depth); k += 4) {
    vec4 w[2];
    bool has_filter = k + lane / 2 < depth;
    [[unroll]] for (uint r = 0; r < 2; ++r)
      w[r] = has_filter ? texelFetch(filters, int(filter_at[r] + k * 2)) : vec4(0);
    float pixels[4][2];
    [[unroll]] for (uint n = 0; n < 4; ++n) {
      [[unroll]] for (uint j = 0; j < 2; ++j) {
        int row = top[j] + int(ky * dilation_height), column = left[j] + int(kx * dilation_width);
        bool is_inside = uint(row) < height && uint(column) < width && k + n < depth;
        float element = texelFetch(x, is_inside ? int(plane) + row * int(width) + column : 0).x;
        pixels[n][j] = is_inside ? element : 0.0;
      }
      kx += 1;
      bool is_next_row = kx == kernel_width;
      kx = is_next_row ? 0 : kx;
      ky += is_next_row ? 1 : 0;
      bool is_next_plane = ky == kernel_height;
      ky = is_next_plane ? 0 : ky;
      plane += is_next_plane ? height * width : 0;
    }
    EIGHT_CHANNELS(0)
    EIGHT_CHANNELS(1)
  }
  [[unroll]] for (uint i = 0; i < 16; ++i)
    [[unroll]] for (uint j = 0; j < 2; ++j) total[i][j] += sum[i][j];
  }
  [[unroll]] for (uint i = 0; i < 16; ++i) {
    uint in_group = block * 16 + i;
    uint channel = group * channels + min(in_group, channels - 1);
    float channel_bias = bias[channel];  // outside of branches: one load for all lanes
    float start = has_bias != 0 ? channel_bias : 0.0;
    uint to = (batch * groups * channels + channel) * count;
    [[unroll]] for (uint j = 0; j < 2; ++j) {
      float result = limited(total[i][j] + start, low, high);
      if (in_group < channels && pixel[j] < count) y[to + pixel[j]] = result;
    }
  }
}
