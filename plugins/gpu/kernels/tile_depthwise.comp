// SPDX-License-Identifier: Apache-2.0
// Convolution with one filter for each channel, for CPU drivers (tile_matmul.comp has the reason for texel buffers). Each
// invocation computes eight neighbouring pixels of a channel. STRIDE=1, 2: filters of three times three without dilation
// and of this stride along a row. No loop is left of those, and each pixel is read once. STRIDE=0: all others.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tile.glsl"

layout(set = 0, binding = 0) uniform samplerBuffer x;
layout(set = 0, binding = 1) uniform samplerBuffer filters;
layout(set = 0, binding = 2) uniform samplerBuffer bias;
layout(set = 0, binding = 3) uniform samplerBuffer residual;
layout(set = 0, binding = 4) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint channels;
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
} push;

const uint kPixels = 8;

// The number at a column of a row, 0 outside of the image.
float pixel_at(bool has_row, int line, int column, uint width) {
  bool is_inside = has_row && uint(column) < width;
  float element = texelFetch(x, is_inside ? line + column : 0).x;
  return is_inside ? element : 0.0f;
}

void main() {
  uint channels = push.channels, height = push.height, width = push.width;
  uint out_height = push.out_height, out_width = push.out_width;
  uint kernel_height = push.kernel_height, kernel_width = push.kernel_width;
  int stride_width = int(push.stride_width);
  int dilation_height = int(push.dilation_height), dilation_width = int(push.dilation_width);
  bool has_bias = push.has_bias != 0;
  float low = push.low, high = push.high;
  bool has_residual = HAS_RESIDUAL != 0;
  float sum_low = push.sum_low, sum_high = push.sum_high;
  uint tiles = (out_width + kPixels - 1) / kPixels;
  uint tile = gl_GlobalInvocationID.x;
  uint out_y = tile / tiles, out_x = (tile - out_y * tiles) * kPixels;
  uint channel = gl_WorkGroupID.y;
  uint batch_channel = gl_WorkGroupID.z * channels + channel;
  int plane = int(batch_channel * height * width);
  int left = int(out_x) * stride_width - push.padding_width;
  int top = int(out_y * push.stride_height) - push.padding_height;
  float channel_bias = texelFetch(bias, int(channel)).x;
  float start = has_bias ? channel_bias : 0.0f;
  float sum[kPixels];
  [[unroll]] for (uint n = 0; n < kPixels; ++n) sum[n] = 0.0f;
#if STRIDE
  const int kColumns = int(kPixels - 1) * STRIDE + 3;
  [[unroll]] for (int ky = 0; ky < 3; ++ky) {
    int row = top + ky, filter_at = int(channel) * 9 + ky * 3;
    bool has_row = uint(row) < height;
    int line = plane + row * int(width);
    float factor[3];
    [[unroll]] for (int kx = 0; kx < 3; ++kx) factor[kx] = texelFetch(filters, filter_at + kx).x;
    float pixels[kColumns];
    [[unroll]] for (int c = 0; c < kColumns; ++c)
      pixels[c] = pixel_at(has_row, line, left + c, width);
    [[unroll]] for (int n = 0; n < int(kPixels); ++n) {
      sum[n] += factor[0] * pixels[n * STRIDE] + factor[1] * pixels[n * STRIDE + 1] +
                factor[2] * pixels[n * STRIDE + 2];
    }
  }
#else
  int filter_at = int(channel * kernel_height * kernel_width);
  for (uint ky = 0; ky < kernel_height; ++ky) {
    int row = top + int(ky) * dilation_height;
    bool has_row = uint(row) < height;
    int line = plane + row * int(width);
    float part[kPixels];  // of the row: shorter chains of sums are more exact
    [[unroll]] for (uint n = 0; n < kPixels; ++n) part[n] = 0.0f;
    for (uint kx = 0; kx < kernel_width; ++kx) {
      float factor = texelFetch(filters, filter_at++).x;
      int column = left + int(kx) * dilation_width;
      [[unroll]] for (uint n = 0; n < kPixels; ++n)
        part[n] += factor * pixel_at(has_row, line, column + int(n) * stride_width, width);
    }
    [[unroll]] for (uint n = 0; n < kPixels; ++n) sum[n] += part[n];
  }
#endif
  uint to = (batch_channel * out_height + out_y) * out_width + out_x;
  bool has_tile = tile < tiles * out_height;
  [[unroll]] for (uint n = 0; n < kPixels; ++n) {
    float result = clamped_number(sum[n] + start, low, high);
    bool is_stored = has_tile && out_x + n < out_width;
    float number = texelFetch(residual, has_residual && is_stored ? int(to + n) : 0).x;
    result = has_residual ? clamped_number(result + number, sum_low, sum_high) : result;
    if (is_stored) y[to + n] = result;
  }
}
