// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution as tile_matmul.comp: a workgroup, which is one subgroup of eight, computes 16 channels of 16
// pixels. Filters are packed as [groups][channels / 8][inputs * height * width][8]. A fetch of each lane reads four numbers,
// so all lanes read eight channels of four steps.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tile.glsl"

layout(set = 0, binding = 0) uniform samplerBuffer x;
layout(set = 0, binding = 1) uniform samplerBuffer filters;
layout(set = 0, binding = 2) uniform samplerBuffer bias;
layout(set = 0, binding = 3) uniform samplerBuffer residual;
layout(set = 0, binding = 4) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint groups, inputs, channels;  // inputs and channels of one group
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
} push;

const uint kChannels = 16;
const uint kSteps = 32;  // that are added up on their own, as in tile_matmul.comp

// Adds four steps to a channel, whose numbers are in lane `lane` and in each second one after it. In pairs, as in tile_matmul.comp.
#define CHANNEL(channel, number, lane)                                                                      \
  chain[channel] +=                                                                                         \
      (subgroupShuffle(number, lane) * pixels[0] + subgroupShuffle(number, lane + 2) * pixels[1]) +         \
      (subgroupShuffle(number, lane + 4) * pixels[2] + subgroupShuffle(number, lane + 6) * pixels[3]);
#define FOUR_CHANNELS(channel, numbers, lane)                                  \
  CHANNEL(channel, numbers.x, lane) CHANNEL(channel + 1, numbers.y, lane) \
  CHANNEL(channel + 2, numbers.z, lane) CHANNEL(channel + 3, numbers.w, lane)
#define EIGHT_CHANNELS(channel, numbers) FOUR_CHANNELS(channel, numbers, 0) FOUR_CHANNELS(channel + 4, numbers, 1)

void main() {
  uint channels = push.channels, height = push.height, width = push.width, out_width = push.out_width;
  uint kernel_height = push.kernel_height, kernel_width = push.kernel_width;
  int dilation_height = int(push.dilation_height), dilation_width = int(push.dilation_width);
  bool has_bias = push.has_bias != 0;
  float low = push.low, high = push.high;
  bool has_residual = HAS_RESIDUAL != 0;
  float sum_low = push.sum_low, sum_high = push.sum_high;
  uint lane = gl_SubgroupInvocationID;
  uint blocks = (channels + 15) / 16, eights = (channels + 7) / 8;
  uint group = gl_WorkGroupID.y / blocks, block = gl_WorkGroupID.y - group * blocks;
  uint batch = gl_WorkGroupID.z, groups = push.groups;
  uint depth = push.inputs * kernel_height * kernel_width;
  uint count = push.out_height * out_width;
  uvec2 pixel = gl_WorkGroupID.x * 16 + gl_LocalInvocationID.x + uvec2(0, 8);
  uvec2 out_y = pixel / out_width;
  ivec2 top = ivec2(out_y * push.stride_height) - push.padding_height;
  ivec2 left = ivec2((pixel - out_y * out_width) * push.stride_width) - push.padding_width;
  uint upper_at = (group * eights + block * 2) * depth * 2 + lane;
  uint lower_at = (group * eights + min(block * 2 + 1, eights - 1)) * depth * 2 + lane;
  vec2 sum[kChannels], chain[kChannels];
  [[unroll]] for (uint i = 0; i < kChannels; ++i) sum[i] = vec2(0);
  uint plane_size = height * width;
  uint plane = (batch * groups + group) * push.inputs * plane_size;
  uint ky = 0, kx = 0;  // of step k
  for (uint first_step = 0; first_step < depth; first_step += kSteps) {
  uint end = min(first_step + kSteps, depth);
  [[unroll]] for (uint i = 0; i < kChannels; ++i) chain[i] = vec2(0);
  for (uint k = first_step; k < end; k += 4) {
    bool has_filter = k + lane / 2 < depth;
    vec4 upper = texelFetch(filters, int(upper_at + k * 2)), lower = texelFetch(filters, int(lower_at + k * 2));
    upper = has_filter ? upper : vec4(0);
    lower = has_filter ? lower : vec4(0);
    vec2 pixels[4];
    [[unroll]] for (uint n = 0; n < 4; ++n) {
      ivec2 row = top + int(ky) * dilation_height, column = left + int(kx) * dilation_width;
      bool has_step = k + n < depth;
      bvec2 is_inside = bvec2(has_step && uint(row.x) < height && uint(column.x) < width,
                              has_step && uint(row.y) < height && uint(column.y) < width);
      ivec2 at = int(plane) + row * int(width) + column;
      float first = texelFetch(x, is_inside.x ? at.x : 0).x, second = texelFetch(x, is_inside.y ? at.y : 0).x;
      pixels[n] = vec2(is_inside.x ? first : 0.0f, is_inside.y ? second : 0.0f);
      kx += 1;
      bool is_next_row = kx == kernel_width;
      kx = is_next_row ? 0 : kx;
      ky += is_next_row ? 1 : 0;
      bool is_next_plane = ky == kernel_height;
      ky = is_next_plane ? 0 : ky;
      plane += is_next_plane ? plane_size : 0;
    }
    EIGHT_CHANNELS(0, upper)
    EIGHT_CHANNELS(8, lower)
  }
  [[unroll]] for (uint i = 0; i < kChannels; ++i) sum[i] += chain[i];
  }
  uint parts = min((channels - block * 16 + kPart - 1) / kPart, kChannels / kPart);
  for (uint part = 0; part < parts; ++part) {
    [[unroll]] for (uint i = 0; i < kPart; ++i) {
      uint in_group = block * 16 + part * kPart + i;
      uint channel = group * channels + min(in_group, channels - 1);
      float channel_bias = texelFetch(bias, int(channel)).x;
      float start = has_bias ? channel_bias : 0.0f;
      vec2 total;
      CHOOSE_SUM(total, sum, part, i, kChannels)
      vec2 result = clamped_numbers(total + start, low, high);
      uint to = (batch * groups * channels + channel) * count + pixel.x;
      bvec2 is_stored = bvec2(in_group < channels && pixel.x < count, in_group < channels && pixel.y < count);
      ADD_FETCHED(result, vec2(texelFetch(residual, has_residual && is_stored.x ? int(to) : 0).x,
                               texelFetch(residual, has_residual && is_stored.y ? int(to + 8) : 0).x))
      if (is_stored.x) y[to] = result.x;
      if (is_stored.y) y[to + 8] = result.y;
    }
  }
}
