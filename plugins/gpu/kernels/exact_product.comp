// SPDX-License-Identifier: Apache-2.0
// y = limited(a * b + bias), for few numbers: what each product and sum loses is computed, too, and added at the
// end (Ogita, Rump and Oishi, "Accurate sum and dot product", algorithm Dot2). So the result is nearly always the float that is
// nearest to the exact number, whatever the order of the sum. Products are split in halves, because not every device has an exact fma.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#pragma OPENCL FP_CONTRACT OFF

BEGIN_PUSH
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // unused: one matrix
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;          // alpha and beta are 1
  RESIDUAL_PUSH
END_PUSH

KERNEL5(READS, float, a, READS, float, b, READS, float, bias, READS, float, residual, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.rows * push.columns) return;
  uint row = i / push.columns, column = i % push.columns;
  precise float sum = 0.0f;
  precise float lost = 0.0f;
  for (uint k = 0; k <= push.depth; ++k) {
    bool is_bias = k == push.depth;
    if (is_bias && push.has_bias == 0) break;
    precise float x = is_bias ? LOAD(bias, row * push.bias_row + column * push.bias_column) : LOAD(a, row * push.depth + k);
    precise float factor = is_bias ? 1.0f : LOAD(b, k * push.b_row + column);
    precise float product = x * factor;
    // Halves of 12 digits, whose products are exact.
    precise float large_x = x * 4097.0f;
    precise float high_x = large_x - (large_x - x);
    precise float low_x = x - high_x;
    precise float large_factor = factor * 4097.0f;
    precise float high_factor = large_factor - (large_factor - factor);
    precise float low_factor = factor - high_factor;
    precise float of_product =
        low_x * low_factor - (((product - high_x * high_factor) - low_x * high_factor) - high_x * low_factor);
    precise float total = sum + product;
    precise float part = total - sum;
    precise float of_sum = (sum - (total - part)) + (product - part);
    lost = lost + (of_product + of_sum);
    sum = total;
  }
  // Where a number is too large to be split, or infinite, only the plain sum is known.
  precise float difference = lost - lost;
  float result = limited(difference == 0.0f ? sum + lost : sum, push.low, push.high);
  ADD_RESIDUAL(result, LOAD(residual, i))
  STORE(y, i, result)
}
