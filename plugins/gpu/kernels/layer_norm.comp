// SPDX-License-Identifier: Apache-2.0
// Layer norm of contiguous rows; one row by each invocation. The variance is that of the differences from the mean.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;   // rows
  uint row_size;  // elements of a row
  float eps;
END_PUSH

KERNEL4(READS, float, x, READS, float, weight, READS, float, bias, WRITES, float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint from = index * push.row_size;
  float total = 0.0f, part = 0.0f;
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size) part += LOAD(x, from + i);
    if ((first & 63) == 60) {
      total += part;
      part = 0.0f;
    }
  }
  float mean = divided(total + part, float(push.row_size));
  float squares = 0.0f;
  part = 0.0f;
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size) {
      float difference = LOAD(x, from + i) - mean;
      part += difference * difference;
    }
    if ((first & 63) == 60) {
      squares += part;
      part = 0.0f;
    }
  }
  float scale = 1.0f / sqrt((squares + part) / float(push.row_size) + push.eps);
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size)
      STORE(y, from + i, (LOAD(x, from + i) - mean) * scale * LOAD(weight, i) + LOAD(bias, i))
  }
}
