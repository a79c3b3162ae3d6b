// SPDX-License-Identifier: Apache-2.0
// y = limited(alpha * a * b + beta * bias), for CPU drivers of OpenCL. Each work-item computes ROWS rows of VECTORS times 16
// columns in vector registers. Rows change fastest, so that neighbours read the same columns of b. There are at least
// so many columns as a work-item computes.

#define COLUMNS (16 * VECTORS)

BEGIN_PUSH
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // elements from one matrix of a batch to the next
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;
  RESIDUAL_PUSH
END_PUSH

KERNEL5(READS, float, a, READS, float, b, READS, float, bias, READS, float, residual, WRITES, float, y) {
  uint row = GLOBAL_X * ROWS, column = GROUP_Y * COLUMNS;
  if (row >= push.rows || column >= push.columns) return;
  // The last tile begins earlier, so that it reads whole vectors. It stores only columns of its own.
  uint first = min(column, push.columns - COLUMNS);
  __global const float* factors = b + GROUP_Z * push.b_batch + first;
  __global const float* scales[ROWS];
  UNROLL for (uint i = 0; i < ROWS; ++i)
    scales[i] = a + GROUP_Z * push.a_batch + min(row + i, push.rows - 1) * push.depth;
  float16 sum[ROWS][VECTORS];
  UNROLL for (uint i = 0; i < ROWS; ++i)
    UNROLL for (uint j = 0; j < VECTORS; ++j) sum[i][j] = 0;
  for (uint k = 0; k < push.depth; ++k) {
    float16 factor[VECTORS];
    UNROLL for (uint j = 0; j < VECTORS; ++j) factor[j] = vload16(j, factors + k * push.b_row);
    UNROLL for (uint i = 0; i < ROWS; ++i)
      UNROLL for (uint j = 0; j < VECTORS; ++j) sum[i][j] = fma((float16)(scales[i][k]), factor[j], sum[i][j]);
  }
  float16 start[VECTORS];
  UNROLL for (uint j = 0; j < VECTORS; ++j) {
    start[j] = 0;
    if (push.has_bias != 0 && push.bias_row == 0)
      start[j] = push.beta * (push.bias_column != 0 ? vload16(j, bias + first) : (float16)(bias[0]));
  }
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    if (row + i >= push.rows) break;
    float row_start = push.has_bias != 0 && push.bias_row != 0 ? push.beta * bias[(row + i) * push.bias_row] : 0.0f;
    float line[COLUMNS];
    uint at = GROUP_Z * push.y_batch + (row + i) * push.columns + first;
    __global float* to = y + at;
    UNROLL for (uint j = 0; j < VECTORS; ++j) {
      float16 result = limited16(push.alpha * sum[i][j] + (start[j] + row_start), push.low, push.high);
      ADD_RESIDUAL16(result, j, residual + at)
      if (column == first) {
        vstore16(result, j, to);
      } else {
        vstore16(result, j, line);
      }
    }
    if (column != first)
      for (uint n = column - first; n < COLUMNS; ++n) to[n] = line[n];
  }
}
