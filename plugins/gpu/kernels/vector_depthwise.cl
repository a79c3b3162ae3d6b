// SPDX-License-Identifier: Apache-2.0
// Convolution with one filter of three times three for each channel, without dilation, for CPU drivers of OpenCL. STRIDE: of
// both dimensions. Each work-item computes LINES lines of a channel, in strips of STRIP columns. It keeps the part of three
// rows of the image that a strip reads, with zeros outside of the image.

#define LINES 16
#define STRIP 256
#define ROW_SIZE (STRIP * STRIDE + 32)

BEGIN_PUSH
  uint channels;
  uint height, width, out_height, out_width;
  uint kernel_height, kernel_width, stride_height, stride_width;
  int padding_height, padding_width;
  uint dilation_height, dilation_width;
  uint has_bias;
  float low, high;
  RESIDUAL_PUSH
END_PUSH

// Reads so many numbers of a row, from a column that may be left of the image.
void read_row(__global const float* from, bool has_row, int column, int width, int count, float* to) {
  int begin = has_row ? min(max(-column, 0), count) : count, end = has_row ? clamp(width - column, begin, count) : count;
  for (int n = 0; n < begin; ++n) to[n] = 0.0f;
  int n = begin;
  for (; n + 16 <= end; n += 16) vstore16(vload16(0, from + column + n), 0, to + n);
  for (; n < end; ++n) to[n] = from[column + n];
  for (; n < count; ++n) to[n] = 0.0f;
}

KERNEL5(READS, float, x, READS, float, filters, READS, float, bias, READS, float, residual, WRITES, float, y) {
  uint first_line = GLOBAL_X * LINES, channel = GROUP_Y;
  if (first_line >= push.out_height) return;
  uint end_line = min(first_line + LINES, push.out_height);
  uint batch_channel = GROUP_Z * push.channels + channel;
  __global const float* plane = x + batch_channel * push.height * push.width;
  float start = push.has_bias != 0 ? bias[channel] : 0.0f;
  float factor[9];
  UNROLL for (uint i = 0; i < 9; ++i) factor[i] = filters[channel * 9 + i];
  float rows[3][ROW_SIZE];
  for (uint strip = 0; strip < push.out_width; strip += STRIP) {
    uint columns = min((uint)STRIP, push.out_width - strip);
    int left = int(strip * STRIDE) - push.padding_width;
    int count = int((columns + 15) / 16 * 16 * STRIDE) + 18;  // vectors of results reach past the last one
    int next = 0;  // row that is not read yet, counted from the padding
    for (uint line = first_line; line < end_line; ++line) {
      int top = int(line) * STRIDE;
      for (next = max(next, top); next < top + 3; ++next) {
        int row = next - push.padding_height;
        bool has_row = (uint)(row) < push.height;
        read_row(plane + (has_row ? row * int(push.width) : 0), has_row, left, int(push.width), count, rows[next % 3]);
      }
      uint at = (batch_channel * push.out_height + line) * push.out_width + strip;
      for (uint column = 0; column < columns; column += 16) {
        float16 sum = start;
        UNROLL for (int ky = 0; ky < 3; ++ky) {
          const float* from = rows[(top + ky) % 3] + column * STRIDE;
          UNROLL for (int kx = 0; kx < 3; ++kx) {
#if STRIDE == 1
            float16 pixels = vload16(0, from + kx);
#else
            float16 pixels = (float16)(vload16(0, from + kx).even, vload16(0, from + kx + 16).even);
#endif
            sum = fma((float16)(factor[ky * 3 + kx]), pixels, sum);
          }
        }
        sum = limited16(sum, push.low, push.high);
        if (column + 16 <= columns) {
          ADD_RESIDUAL16(sum, 0, residual + at + column)
          vstore16(sum, 0, y + at + column);
        } else {
          float rest[16];
          vstore16(sum, 0, rest);
          for (uint n = column; n < columns; ++n) {
            float result = rest[n - column];
            ADD_RESIDUAL(result, residual[at + n])
            y[at + n] = result;
          }
        }
      }
    }
  }
}
