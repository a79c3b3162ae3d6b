// SPDX-License-Identifier: Apache-2.0
// Products and convolutions for GPUs. A workgroup computes a tile of 8 * ROWS rows and 32 columns: it loads 16 steps of the depth
// into shared memory, and each invocation computes ROWS rows of four columns. SLICES > 1: each 64 invocations have a part of
// the depth of their own, so that products of few tiles keep a GPU busy; their sums are added at the end.
// CONVOLUTION=0: y = limited(alpha * a * b + beta * bias); WHOLE=1: columns are a multiple of four; BITS: as in matmul.comp.
// CONVOLUTION=1: rows are channels, packed as in convolution.comp, columns are pixels, and the depth is the window.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"

#define LANES 64u  // invocations of a slice: 8 rows of 8
#define TILE_ROWS (8u * ROWS)
#define STEP 16u
#define A_STRIDE 5u  // vectors of four steps, and one that keeps rows in different banks
#define A_NUMEL (TILE_ROWS * A_STRIDE)
#define B_NUMEL (STEP * 8u)

#if WHOLE
#define COLUMNS vec4  // columns as b and y store them
#else
#define COLUMNS float
#endif
#define CODED (BITS == 4 || BITS == 8)
#if BITS == 16
#define PACKED_ROW HALF_ROW
#elif BITS == 8
#define PACKED_ROW CODE8_ROW
#else
#define PACKED_ROW CODE4_ROW
#endif
BEGIN_PUSH
#if CONVOLUTION
  uint groups, inputs, channels;  // inputs and channels of one group
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
#else
  uint rows, columns, depth;
  uint a_batch, b_batch, y_batch;  // elements from one matrix of a batch to the next
  uint b_row;                      // elements from one row of b to the next
  uint has_bias, bias_row, bias_column;  // a bias has one number for all, one a row, or one a column
  float alpha, beta, low, high;
  RESIDUAL_PUSH
#if CODED
  uint group;  // of the depth
#endif
#endif
END_PUSH

SHARED_OUTSIDE(vec4, part, SLICES * (A_NUMEL + B_NUMEL))

#if CONVOLUTION
KERNEL5(READS, float, x, READS, float, filters, READS, float, bias, READS, float, residual, WRITES, float, y) {
#elif BITS == 16
KERNEL5(READS, float, a, READS, uint, b, READS, float, bias, READS, COLUMNS, residual, WRITES, COLUMNS, y) {
#elif BITS
KERNEL6(READS, float, a, READS, uint, b, READS, vec4, factors, READS, float, bias, READS, COLUMNS, residual, WRITES, COLUMNS, y) {
#else
KERNEL5(READS, float, a, READS, COLUMNS, b, READS, float, bias, READS, COLUMNS, residual, WRITES, COLUMNS, y) {
#endif
  SHARED_INSIDE(vec4, part, SLICES * (A_NUMEL + B_NUMEL))
  uint lane = LOCAL_X % LANES, slice = LOCAL_X / LANES;
  uint a_part = slice * A_NUMEL, b_part = SLICES * A_NUMEL + slice * B_NUMEL;
  uint tile_row = GROUP_Y * TILE_ROWS, tile_column = GROUP_X * 32;
  uint load_column = tile_column + lane % 8 * 4;  // the first of the four columns that this lane loads
#if CONVOLUTION
  uint out_width = max(push.out_width, 1u);  // OpenCL devices prepare kernels with zeros
  uint window = push.kernel_height * push.kernel_width;
  uint rows = push.channels, columns = push.out_height * push.out_width, depth = push.inputs * window;
  uint row_tiles = max((push.channels + TILE_ROWS - 1) / TILE_ROWS, 1u);
  uint group = GROUP_Y / row_tiles;
  tile_row -= group * row_tiles * TILE_ROWS;
  uint batch = GROUP_Z;
  uint blocks = (push.channels + 7) / 8;
  uint filters_at = group * blocks * depth * 8;
  uint image = (batch * push.groups + group) * push.inputs * push.height * push.width;
  int top[4], left[4];  // of the windows of the four pixels
  UNROLL for (uint n = 0; n < 4; ++n) {
    uint pixel = min(load_column + n, columns - 1);
    top[n] = int(pixel / out_width * push.stride_height) - push.padding_height;
    left[n] = int(pixel % out_width * push.stride_width) - push.padding_width;
  }
#else
  uint rows = push.rows, columns = push.columns, depth = push.depth;
  uint batch = GROUP_Z;
#endif
  vec4 sum[ROWS];
  UNROLL for (uint i = 0; i < ROWS; ++i) sum[i] = VEC4(0);
  uint steps = (depth + STEP * SLICES - 1) / (STEP * SLICES);
  uint first = slice * steps * STEP;
  // No invocation leaves early: all reach the barriers.
  for (uint s = 0; s < steps; ++s, first += STEP) {
    UNROLL for (uint j = 0; j < TILE_ROWS * 4u / LANES; ++j) {
      uint row = (lane + j * LANES) / 4, step = lane % 4;
      uint from = first + step * 4;
      vec4 numbers = VEC4(0);
      UNROLL for (uint n = 0; n < 4; ++n) {
        if (tile_row + row < rows && from + n < depth) {
#if CONVOLUTION
          uint channel = tile_row + row;
          ELEMENT(numbers, n) = LOAD(filters, filters_at + (channel / 8 * depth + from + n) * 8 + channel % 8);
#else
          ELEMENT(numbers, n) = LOAD(a, batch * push.a_batch + (tile_row + row) * depth + from + n);
#endif
        }
      }
      part[a_part + row * A_STRIDE + step] = numbers;
    }
    UNROLL for (uint j = 0; j < B_NUMEL / LANES; ++j) {
      uint step = lane / 8 + j * 8;
      uint k = first + step;
      vec4 numbers = VEC4(0);
      if (k < depth && load_column < columns) {
#if CONVOLUTION
        uint channel = k / window, at = k % window;
        int down = int(at / push.kernel_width * push.dilation_height),
            across = int(at % push.kernel_width * push.dilation_width);
        uint plane = image + channel * push.height * push.width;
        UNROLL for (uint n = 0; n < 4; ++n) {
          int line = top[n] + down, column = left[n] + across;
          if (line >= 0 && line < int(push.height) && column >= 0 && column < int(push.width))
            ELEMENT(numbers, n) = LOAD(x, plane + uint(line) * push.width + uint(column));
        }
#elif BITS
        uint stride = push.b_row / 4, at = load_column / 4;
        numbers = PACKED_ROW(b, at, k, stride);
#if CODED
        uint row_of_factors = k / max(push.group, 1u) * 2 * stride + at;
        numbers = (numbers - factors[row_of_factors + stride]) * factors[row_of_factors];
#endif
#elif WHOLE
        numbers = LOAD4(b, (batch * push.b_batch + k * push.b_row + load_column) / 4);
#else
        uint at = batch * push.b_batch + k * push.b_row;
        uvec4 column = min(load_column + UVEC4(0, 1, 2, 3), UVEC4(columns - 1));
        numbers = GATHER4(b, at + column);
#endif
      }
      part[b_part + step * 8 + lane % 8] = numbers;
    }
    BARRIER;
    UNROLL for (uint q = 0; q < 4; ++q) {
      vec4 factor[4];
      UNROLL for (uint n = 0; n < 4; ++n) factor[n] = part[b_part + (q * 4 + n) * 8 + lane % 8];
      UNROLL for (uint i = 0; i < ROWS; ++i) {
        vec4 scale = part[a_part + (lane / 8 * ROWS + i) * A_STRIDE + q];
        sum[i] += scale.x * factor[0];
        sum[i] += scale.y * factor[1];
        sum[i] += scale.z * factor[2];
        sum[i] += scale.w * factor[3];
      }
    }
    BARRIER;
  }
#if SLICES > 1
  if (slice != 0)
    UNROLL for (uint i = 0; i < ROWS; ++i) part[((slice - 1) * ROWS + i) * LANES + lane] = sum[i];
  BARRIER;
  if (slice != 0) return;
  for (uint other = 0; other < SLICES - 1; ++other)
    UNROLL for (uint i = 0; i < ROWS; ++i) sum[i] += part[(other * ROWS + i) * LANES + lane];
#endif
  uint column = tile_column + lane % 8 * 4;
  if (column >= columns) return;
#if !CONVOLUTION
  vec4 start = VEC4(0);
  if (push.has_bias != 0 && push.bias_row == 0) {
    uvec4 at = min(column + UVEC4(0, 1, 2, 3), UVEC4(columns - 1)) * push.bias_column;
    start = push.beta * GATHER4(bias, at);
  }
#endif
  UNROLL for (uint i = 0; i < ROWS; ++i) {
    uint row = tile_row + lane / 8 * ROWS + i;
    if (row >= rows) break;
#if CONVOLUTION
    uint channel = group * push.channels + row;
    vec4 result = sum[i] + (push.has_bias != 0 ? LOAD(bias, channel) : 0.0f);
    uint to = (batch * push.groups * push.channels + channel) * columns + column;
#else
    float row_start = push.has_bias != 0 && push.bias_row != 0 ? push.beta * LOAD(bias, row * push.bias_row) : 0.0f;
    vec4 result = push.alpha * sum[i] + (start + row_start);
    uint to = batch * push.y_batch + row * columns + column;
#endif
    result = limited4(result, push.low, push.high);
#if WHOLE
    ADD_RESIDUAL4(result, LOAD4(residual, to / 4))
    STORE4(y, to / 4, result)
#else
    UNROLL for (uint n = 0; n < 4; ++n) {
      if (column + n >= columns) continue;
      float number = ELEMENT(result, n);
      ADD_RESIDUAL(number, LOAD(residual, to + n))
      STORE(y, to + n, number)
    }
#endif
  }
}
