// SPDX-License-Identifier: Apache-2.0
// Convolution with one filter for each channel. Each invocation computes four neighbouring pixels of a channel. BITS=8:
// filters are codes, four in a word, and `factors` has the scales of all channels, then their zero points.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint channels;
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
END_PUSH

#if BITS
KERNEL6(READS, float, x, READS, uint, filters, READS, float, factors, READS, float, bias, READS, float, residual, WRITES, float, y) {
#else
KERNEL5(READS, float, x, READS, float, filters, READS, float, bias, READS, float, residual, WRITES, float, y) {
#endif
  uint tiles = (push.out_width + 3) / 4;
  uint tile = GLOBAL_X;
  if (tile >= tiles * push.out_height) return;
  uint out_y = tile / tiles, out_x = (tile - out_y * tiles) * 4;
  uint channel = GROUP_Y;
  uint plane = (GROUP_Z * push.channels + channel) * push.height * push.width;
  uint filter_at = channel * push.kernel_height * push.kernel_width;
  int left = int(out_x * push.stride_width) - push.padding_width;
  int top = int(out_y * push.stride_height) - push.padding_height;
  vec4 sum = VEC4(0);
  for (uint ky = 0; ky < push.kernel_height; ++ky) {
    int row = top + int(ky * push.dilation_height);
    bool has_row = row >= 0 && row < int(push.height);
    uint line = plane + uint(clamp(row, 0, int(push.height) - 1)) * push.width;
    for (uint kx = 0; kx < push.kernel_width; ++kx) {
#if BITS
      float code = float(filters[filter_at / 4] >> (filter_at % 4 * 8) & 255u) - 128.0f;
      float factor = (code - factors[(push.channels + 3) / 4 * 4 + channel]) * factors[channel];
      ++filter_at;
#else
      float factor = LOAD(filters, filter_at);
      ++filter_at;
#endif
      ivec4 column = left + int(kx * push.dilation_width) + IVEC4(0, 1, 2, 3) * int(push.stride_width);
      uvec4 at = line + clamped(column, push.width);
      sum += factor * zero_outside(GATHER4(x, at), column, push.width, has_row);
    }
  }
  float start = push.has_bias != 0 ? LOAD(bias, channel) : 0.0f;
  uint to = ((GROUP_Z * push.channels + channel) * push.out_height + out_y) * push.out_width + out_x;
  UNROLL for (uint n = 0; n < 4; ++n) {
    if (out_x + n >= push.out_width) continue;
    float result = limited(ELEMENT(sum, n) + start, push.low, push.high);
    ADD_RESIDUAL(result, LOAD(residual, to + n))
    STORE(y, to + n, result)
  }
}
