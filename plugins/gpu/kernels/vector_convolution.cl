// SPDX-License-Identifier: Apache-2.0
// Two-dimensional convolution for CPU drivers of OpenCL. Each work-item computes 32 neighbouring pixels of up to BLOCKS times
// eight channels. It gathers STEPS numbers of each pixel's window, then multiplies them as a matrix. Filters are packed as
// [groups][channels / 8][inputs * height * width][8].

#define PIXELS 32
#define STEPS 64
#define BLOCKS 4

BEGIN_PUSH
  uint groups, inputs, channels;  // inputs and channels of one group
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
END_PUSH

// Adds so many steps to eight channels.
void add_steps(__global const float* filter, const float* numbers, uint steps, float16 sum[8][2]) {
  float16 part[8][2];
  UNROLL for (uint i = 0; i < 8; ++i)
    UNROLL for (uint j = 0; j < 2; ++j) part[i][j] = sum[i][j];
  for (uint s = 0; s < steps; ++s) {
    float16 pixels[2] = {vload16(2 * s, numbers), vload16(2 * s + 1, numbers)};
    UNROLL for (uint i = 0; i < 8; ++i)
      UNROLL for (uint j = 0; j < 2; ++j) part[i][j] = fma((float16)(filter[s * 8 + i]), pixels[j], part[i][j]);
  }
  UNROLL for (uint i = 0; i < 8; ++i)
    UNROLL for (uint j = 0; j < 2; ++j) sum[i][j] = part[i][j];
}

KERNEL5(READS, float, x, READS, float, filters, READS, float, bias, READS, float, residual, WRITES, float, y) {
  uint count = push.out_height * push.out_width;
  uint first = GLOBAL_X * PIXELS;
  if (first >= count) return;
  uint eights = (push.channels + 7) / 8, parts = (eights + BLOCKS - 1) / BLOCKS;
  uint group = GROUP_Y / parts, block = (GROUP_Y - group * parts) * BLOCKS;
  uint blocks = min((uint)BLOCKS, eights - block);
  uint batch = GROUP_Z;
  int top[PIXELS], left[PIXELS];
  for (uint n = 0; n < PIXELS; ++n) {
    uint pixel = min(first + n, count - 1);
    uint out_y = pixel / push.out_width;
    top[n] = int(out_y * push.stride_height) - push.padding_height;
    left[n] = int((pixel - out_y * push.out_width) * push.stride_width) - push.padding_width;
  }
  uint depth = push.inputs * push.kernel_height * push.kernel_width;
  __global const float* plane = x + (batch * push.groups + group) * push.inputs * push.height * push.width;
  uint ky = 0, kx = 0;  // of the next step
  float numbers[STEPS * PIXELS];
  float16 sum[BLOCKS][8][2];
  for (uint b = 0; b < BLOCKS; ++b)
    UNROLL for (uint i = 0; i < 8; ++i) sum[b][i][0] = sum[b][i][1] = 0;
  for (uint k = 0; k < depth; k += STEPS) {
    uint steps = min((uint)STEPS, depth - k);
    for (uint s = 0; s < steps; ++s) {
      int down = int(ky * push.dilation_height), right = int(kx * push.dilation_width);
      for (uint n = 0; n < PIXELS; ++n) {
        int row = top[n] + down, column = left[n] + right;
        bool is_inside = ((uint)(row) < push.height) & ((uint)(column) < push.width);
        float number = plane[is_inside ? row * int(push.width) + column : 0];
        numbers[s * PIXELS + n] = is_inside ? number : 0.0f;
      }
      if (++kx < push.kernel_width) continue;
      kx = 0;
      if (++ky < push.kernel_height) continue;
      ky = 0;
      plane += push.height * push.width;
    }
    for (uint b = 0; b < blocks; ++b)
      add_steps(filters + ((group * eights + block + b) * depth + k) * 8, numbers, steps, sum[b]);
  }
  for (uint b = 0; b < blocks; ++b) {
    for (uint i = 0; i < 8 && (block + b) * 8 + i < push.channels; ++i) {
      uint channel = group * push.channels + (block + b) * 8 + i;
      float start = push.has_bias != 0 ? bias[channel] : 0.0f;
      uint at = (batch * push.groups * push.channels + channel) * count + first;
      float line[PIXELS];
      UNROLL for (uint j = 0; j < 2; ++j) vstore16(limited16(sum[b][i][j] + start, push.low, push.high), j, line);
      for (uint n = 0; n < min((uint)PIXELS, count - first); ++n) {
        float result = line[n];
        ADD_RESIDUAL(result, residual[at + n])
        y[at + n] = result;
      }
    }
  }
}
