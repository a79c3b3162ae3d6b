// SPDX-License-Identifier: Apache-2.0
// Rows of a table by index. A row that the table does not have is NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

layout(set = 0, binding = 0) readonly buffer Table { float table[]; };
layout(set = 0, binding = 1) readonly buffer Indices { uint indices[]; };
layout(set = 0, binding = 2) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push {
  uint count;  // results
  uint rows, length;
  uint words;  // of an index: 2 for 64 bits, low word first
};

void main() {
  uint i = linear_index();
  if (i >= count) return;
  uint which = i / length;
  uint row = indices[which * words];
  bool is_known = row < rows && (words == 1 || indices[which * words + 1] == 0);
  y[i] = is_known ? table[row * length + (i - which * length)] : NOT_A_NUMBER;
}
