// SPDX-License-Identifier: Apache-2.0
// Sums overlapping windows into images: the second half of a transposed convolution. Row `tap` of a channel has the products of
// one element of the filter with all pixels. Each invocation adds up those that meet at one result.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;     // results
  uint channels;  // of a result
  uint in_height, in_width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  uint padding_height, padding_width, dilation_height, dilation_width;
END_PUSH

KERNEL3(READS, float, columns, READS, float, bias, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint rest = i / push.out_width;
  uint column = i - rest * push.out_width + push.padding_width;
  uint plane = rest / push.out_height;
  uint row = rest - plane * push.out_height + push.padding_height;
  uint pixels = push.in_height * push.in_width;
  uint from = plane * push.kernel_height * push.kernel_width * pixels;
  float total = 0.0f;
  for (uint v = 0; v < push.kernel_height; ++v) {
    uint down = v * push.dilation_height;
    uint above = row >= down ? (row - down) / push.stride_height : push.in_height;
    bool has_row = above < push.in_height && above * push.stride_height + down == row;
    for (uint h = 0; h < push.kernel_width; ++h) {
      uint right = h * push.dilation_width;
      uint before = column >= right ? (column - right) / push.stride_width : push.in_width;
      bool is_met = has_row && before < push.in_width && before * push.stride_width + right == column;
      uint at = from + (v * push.kernel_width + h) * pixels + above * push.in_width + before;
      total += is_met ? LOAD(columns, is_met ? at : 0) : 0.0f;
    }
  }
  STORE(y, i, total + LOAD(bias, plane % push.channels))
}
