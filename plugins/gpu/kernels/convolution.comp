// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution. Each invocation computes eight channels of four neighbouring pixels. Filters are packed as
// [groups][channels / 8][inputs * height * width][8], so eight factors are two loads that a whole workgroup shares. BITS=8:
// filters are codes, four in a word, and `factors` has the scales of all channels, then their zero points.
// Products with one image are added up on their own: the error of a sum grows with the root of the length of its chains.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint groups, inputs, channels;  // inputs and channels of one group
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
END_PUSH

#if BITS
KERNEL6(READS, float, x, READS, uint, filters, READS, vec4, factors, READS, float, bias, READS, float, residual, WRITES, float, y) {
#else
KERNEL5(READS, float, x, READS, vec4, filters, READS, float, bias, READS, float, residual, WRITES, float, y) {
#endif
  uint tiles = (push.out_width + 3) / 4;
  uint tile = GLOBAL_X;
  if (tile >= tiles * push.out_height) return;
  uint out_y = tile / tiles, out_x = (tile - out_y * tiles) * 4;
  uint blocks = (push.channels + 7) / 8;
  uint group = GROUP_Y / blocks, block = GROUP_Y - group * blocks;
  uint batch = GROUP_Z;
  vec4 sum[8], part[8];
  UNROLL for (uint i = 0; i < 8; ++i) sum[i] = VEC4(0);
  uint filter_at = GROUP_Y * push.inputs * push.kernel_height * push.kernel_width * 2;
#if BITS
  vec4 first_step = factors[GROUP_Y * 2], second_step = factors[GROUP_Y * 2 + 1];
  uint zeros = (push.groups * blocks + GROUP_Y) * 2;
  vec4 first_zero = factors[zeros], second_zero = factors[zeros + 1];
#endif
  int left = int(out_x * push.stride_width) - push.padding_width;
  int top = int(out_y * push.stride_height) - push.padding_height;
  ivec4 columns = IVEC4(0, 1, 2, 3) * int(push.stride_width);
  for (uint c = 0; c < push.inputs; ++c) {
    UNROLL for (uint i = 0; i < 8; ++i) part[i] = VEC4(0);
    uint plane = ((batch * push.groups + group) * push.inputs + c) * push.height * push.width;
    for (uint ky = 0; ky < push.kernel_height; ++ky) {
      int row = top + int(ky * push.dilation_height);
      bool has_row = row >= 0 && row < int(push.height);
      uint line = plane + uint(clamp(row, 0, int(push.height) - 1)) * push.width;
      for (uint kx = 0; kx < push.kernel_width; ++kx) {
#if BITS
        vec4 first = (codes8(filters[filter_at]) - first_zero) * first_step;
        vec4 second = (codes8(filters[filter_at + 1]) - second_zero) * second_step;
#else
        vec4 first = LOAD4(filters, filter_at), second = LOAD4(filters, filter_at + 1);
#endif
        filter_at += 2;
        ivec4 column = left + int(kx * push.dilation_width) + columns;
        uvec4 at = line + clamped(column, push.width);
        vec4 pixels = zero_outside(GATHER4(x, at), column, push.width, has_row);
        UNROLL for (uint i = 0; i < 4; ++i) {
          part[i] += ELEMENT(first, i) * pixels;
          part[i + 4] += ELEMENT(second, i) * pixels;
        }
      }
    }
    UNROLL for (uint i = 0; i < 8; ++i) sum[i] += part[i];
  }
  UNROLL for (uint i = 0; i < 8; ++i) {
    uint channel = block * 8 + i;
    if (channel >= push.channels) break;
    channel += group * push.channels;
    float start = push.has_bias != 0 ? LOAD(bias, channel) : 0.0f;
    uint to = ((batch * push.groups * push.channels + channel) * push.out_height + out_y) * push.out_width + out_x;
    UNROLL for (uint n = 0; n < 4; ++n) {
      if (out_x + n >= push.out_width) continue;
      float result = limited(ELEMENT(sum[i], n) + start, push.low, push.high);
      ADD_RESIDUAL(result, LOAD(residual, to + n))
      STORE(y, to + n, result)
    }
  }
}
