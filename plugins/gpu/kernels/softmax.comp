// SPDX-License-Identifier: Apache-2.0
// Softmax along one dimension, or its logarithm; one row by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

BEGIN_PUSH
  uint count;   // rows
  uint row_size;  // elements of a row
  uint inner;   // distance of its elements
END_PUSH

KERNEL2(READS, float, x, UPDATES, float, y) {
  uint index = linear_index();
  if (index >= push.count) return;
  uint outer = index / push.inner;
  uint from = outer * push.row_size * push.inner + (index - outer * push.inner);
  float largest = -INFINITY;
  bool has_nan = false;
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size) {
      float element = LOAD(x, from + i * push.inner);
      has_nan = has_nan || is_nan(element);
      largest = element > largest ? element : largest;
    }
  }
  // A row of only -infinity is NaN, like one with infinity or NaN.
  if (has_nan || largest == INFINITY || largest == -INFINITY) largest = NOT_A_NUMBER;
  float total = 0.0f, part = 0.0f;
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size) {
      float power = exponential(LOAD(x, from + i * push.inner) - largest);
#if !LOGARITHM
      if (!IS_HALF(y)) STORE(y, from + i * push.inner, power)
#endif
      part += power;
    }
    if ((first & 63) == 60) {
      total += part;
      part = 0.0f;
    }
  }
  total += part;
#if LOGARITHM
  float offset = logarithm(total);
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size)
      STORE(y, from + i * push.inner, (LOAD(x, from + i * push.inner) - largest) - offset)
  }
#else
  FOUR_EACH(first, push.row_size) {
    EACH_OF_FOUR(i, first, push.row_size) {
      // A power of 16 bits would be rounded twice.
      float power = IS_HALF(y) ? exponential(LOAD(x, from + i * push.inner) - largest) : LOAD(y, from + i * push.inner);
      STORE(y, from + i * push.inner, power / total)
    }
  }
#endif
}
