// SPDX-License-Identifier: Apache-2.0
// Maximum (MEAN=0) or mean of windows; one result by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  int height, width;
  uint out_height, out_width;
  int kernel_height, kernel_width, stride_height, stride_width, padding_height, padding_width, dilation_height,
      dilation_width;
  uint counts_padding;
  int divisor;  // 0: the elements of the window
END_PUSH

KERNEL2(READS, float, x, WRITES, float, y) {
  // Read before the first branch, after which lavapipe reads arguments for each lane.
  int height = push.height, width = push.width, kernel_height = push.kernel_height, kernel_width = push.kernel_width;
  int dilation_height = push.dilation_height, dilation_width = push.dilation_width;
  int padding_height = push.padding_height, padding_width = push.padding_width;
  int stride_height = push.stride_height, stride_width = push.stride_width;
  uint out_height = push.out_height, out_width = push.out_width, counts_padding = push.counts_padding;
  int divisor = push.divisor;
  uint index = linear_index();
  if (index >= push.count) return;
  uint line = index / out_width;
  uint plane = line / out_height;
  int left = int(index - line * out_width) * stride_width - padding_width;
  int top = int(line - plane * out_height) * stride_height - padding_height;
  uint from = plane * uint(height) * uint(width);
  float result = MEAN != 0 ? 0.0f : -INFINITY;
  for (int ky = 0; ky < kernel_height; ++ky) {
    int row = top + ky * dilation_height;
    if (row < 0 || row >= height) continue;
    for (int kx = 0; kx < kernel_width; ++kx) {
      int column = left + kx * dilation_width;
      if (column < 0 || column >= width) continue;
      float element = LOAD(x, from + uint(row * width + column));
#if MEAN
      result += element;
#else
      result = is_nan(element) || element > result ? element : result;  // a comparison with NaN is false
#endif
    }
  }
#if MEAN
  // A window counts at most the padding on both sides of the image.
  int bottom = min(top + kernel_height, height + padding_height);
  int right = min(left + kernel_width, width + padding_width);
  int area = (bottom - top) * (right - left);
  if (counts_padding == 0)
    area = (min(bottom, height) - max(top, 0)) * (min(right, width) - max(left, 0));
  result = divided(result, float(divisor != 0 ? divisor : area));
#endif
  STORE(y, index, result)
}
