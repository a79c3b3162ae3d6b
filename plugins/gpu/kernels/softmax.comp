// SPDX-License-Identifier: Apache-2.0
// Softmax along one dimension, or its logarithm; one row by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

layout(set = 0, binding = 0) readonly buffer In { float x[]; };
layout(set = 0, binding = 1) buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;   // rows
  uint length;  // elements of a row
  uint inner;   // distance of its elements
};

void main() {
  uint index = linear_index();
  if (index >= count) return;
  uint outer = index / inner;
  uint from = outer * length * inner + (index - outer * inner);
  float largest = -INFINITY;
  bool has_nan = false;
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) {
      float element = x[from + i * inner];
      has_nan = has_nan || is_nan(element);
      largest = element > largest ? element : largest;
    }
  }
  // A row of only -infinity is NaN, like one with infinity or NaN.
  if (has_nan || largest == INFINITY || largest == -INFINITY) largest = NOT_A_NUMBER;
  float total = 0.0, part = 0.0;
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) {
      float power = exponential(x[from + i * inner] - largest);
#if !LOGARITHM
      y[from + i * inner] = power;
#endif
      part += power;
    }
    if ((first & 63) == 60) {
      total += part;
      part = 0.0;
    }
  }
  total += part;
#if LOGARITHM
  float offset = logarithm(total);
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) y[from + i * inner] = (x[from + i * inner] - largest) - offset;
  }
#else
  FOUR_EACH(first, length) {
    EACH_OF_FOUR(i, first, length) y[from + i * inner] = y[from + i * inner] / total;
  }
#endif
}
