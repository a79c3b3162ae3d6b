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
  uint index = linear_index();
  if (index >= push.count) return;
  uint line = index / push.out_width;
  uint plane = line / push.out_height;
  int left = int(index - line * push.out_width) * push.stride_width - push.padding_width;
  int top = int(line - plane * push.out_height) * push.stride_height - push.padding_height;
  uint from = plane * uint(push.height) * uint(push.width);
  float result = MEAN != 0 ? 0.0 : -INFINITY;
  for (int ky = 0; ky < push.kernel_height; ++ky) {
    int row = top + ky * push.dilation_height;
    if (row < 0 || row >= push.height) continue;
    for (int kx = 0; kx < push.kernel_width; ++kx) {
      int column = left + kx * push.dilation_width;
      if (column < 0 || column >= push.width) continue;
      float element = x[from + uint(row * push.width + column)];
#if MEAN
      result += element;
#else
      result = is_nan(element) || element > result ? element : result;  // a comparison with NaN is false
#endif
    }
  }
#if MEAN
  // A window counts at most the padding on both sides of the image.
  int bottom = min(top + push.kernel_height, push.height + push.padding_height);
  int right = min(left + push.kernel_width, push.width + push.padding_width);
  int area = (bottom - top) * (right - left);
  if (push.counts_padding == 0)
    area = (min(bottom, push.height) - max(top, 0)) * (min(right, push.width) - max(left, 0));
  result = divided(result, float(push.divisor != 0 ? push.divisor : area));
#endif
  y[index] = result;
}
