// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers of the compute engine.
#include "plugins/dsp_stub/core/dsp_arithmetic.h"
#include "plugins/dsp_stub/core/dsp_compute.h"

int64_t dsp_requantise(int64_t value, int32_t multiplier, uint32_t shift) {
  return dsp_round_shift(dsp_clamp(value, INT32_MIN, INT32_MAX) * multiplier, shift);
}

// Returns the input index that tap `tap` of output `at` reads, -1 for padding.
static int64_t source_index(int64_t at, int64_t tap, int64_t stride, int64_t dilation, int64_t padding,
                            int64_t extent, uint32_t is_transposed) {
  int64_t from = 0;
  if (is_transposed) {
    from = at + padding - tap * dilation;
    if (from < 0 || from % stride != 0) return -1;
    from /= stride;
  } else {
    from = at * stride - padding + tap * dilation;
  }
  return from >= 0 && from < extent ? from : -1;
}

// The sum of (input - input zero) * (weight - weight zero) over the channels of a group.
static int32_t dot(const int8_t* x, const int8_t* w, uint32_t count, int32_t x_zero, int32_t w_zero) {
  int32_t sum = 0;
  if (w_zero == 0)
    for (uint32_t i = 0; i < count; ++i) sum += (x[i] - x_zero) * w[i];
  else
    for (uint32_t i = 0; i < count; ++i) sum += (x[i] - x_zero) * (w[i] - w_zero);
  return sum;
}

void dsp_conv(const uint32_t* w, uint8_t* tcm) {
  const int8_t* input = (const int8_t*)tcm + w[DSP_CONV_INPUT];
  const int8_t* weights = (const int8_t*)tcm + w[DSP_CONV_WEIGHTS];
  const uint8_t* channels = tcm + w[DSP_CONV_CHANNELS];
  const uint32_t group_in = w[DSP_CONV_GROUP_IN], kernel_h = w[DSP_CONV_KERNEL_H],
                 kernel_w = w[DSP_CONV_KERNEL_W];
  const size_t filter = (size_t)kernel_h * kernel_w * group_in;
  const int32_t in_zero = (int32_t)w[DSP_CONV_IN_ZERO], out_zero = (int32_t)w[DSP_CONV_OUT_ZERO];
  for (uint32_t y = 0; y < w[DSP_CONV_OUT_H]; ++y)
    for (uint32_t x = 0; x < w[DSP_CONV_OUT_W]; ++x) {
      uint8_t* pixel =
          tcm + w[DSP_CONV_OUTPUT] + ((size_t)y * w[DSP_CONV_OUT_W] + x) * w[DSP_CONV_PIXEL_STRIDE];
      for (uint32_t c = 0; c < w[DSP_CONV_OUT_C]; ++c) {
        const uint8_t* channel = channels + (size_t)c * DSP_CHANNEL_BYTES;
        const int32_t w_zero = (int8_t)channel[9];
        const size_t first = (size_t)((w[DSP_CONV_FIRST_OUT] + c) / w[DSP_CONV_GROUP_OUT]) * group_in;
        int32_t sum = 0;
        for (uint32_t ky = 0; ky < kernel_h; ++ky) {
          const int64_t row =
              source_index(y, ky, w[DSP_CONV_STRIDE_H], w[DSP_CONV_DILATION_H],
                           (int32_t)w[DSP_CONV_PADDING_TOP], w[DSP_CONV_IN_H], w[DSP_CONV_IS_TRANSPOSED]);
          if (row < 0) continue;
          for (uint32_t kx = 0; kx < kernel_w; ++kx) {
            const int64_t column =
                source_index(x, kx, w[DSP_CONV_STRIDE_W], w[DSP_CONV_DILATION_W],
                             (int32_t)w[DSP_CONV_PADDING_LEFT], w[DSP_CONV_IN_W], w[DSP_CONV_IS_TRANSPOSED]);
            if (column < 0) continue;
            sum += dot(input + ((size_t)row * w[DSP_CONV_IN_W] + (size_t)column) * w[DSP_CONV_IN_C] + first,
                       weights + c * filter + ((size_t)ky * kernel_w + kx) * group_in, group_in, in_zero,
                       w_zero);
          }
        }
        const int64_t value =
            dsp_requantise((int64_t)sum + dsp_load_i32(channel), dsp_load_i32(channel + 4), channel[8]);
        pixel[c] = dsp_to_code(value, out_zero, (int32_t)w[DSP_CONV_LOW], (int32_t)w[DSP_CONV_HIGH]);
      }
    }
}
