// SPDX-License-Identifier: Apache-2.0
// Rows of a table, or of a piece of one, by index. A row that the table does not have is NaN.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

BEGIN_PUSH
  uint count;  // results
  uint rows, row_size;
  uint words;  // of an index: 2 for 64 bits, low word first; 0: one word, a float
  uint first;  // index of the first row
END_PUSH

KERNEL3(READS, float, table, READS, uint, indices, WRITES, float, y) {
  uint i = linear_index();
  if (i >= push.count) return;
  uint which = i / push.row_size;
  uint row = indices[which * max(push.words, 1u)];
  bool is_known = push.words < 2 || indices[which * push.words + 1] == 0;
  if (push.words == 0) {
    float number = uintBitsToFloat(row);
    is_known = number >= 0.0f && number < float(push.first + push.rows);
    row = is_known ? uint(number) : 0;
  }
  row -= push.first;  // wraps: a row before the first is too large
  is_known = is_known && row < push.rows;
  float element = is_known ? LOAD(table, row * push.row_size + (i - which * push.row_size)) : NOT_A_NUMBER;
  STORE(y, i, element)
}
