// SPDX-License-Identifier: Apache-2.0
// Convolutions and linear layers of the compute engine.
#include "plugins/dsp_stub/core/dsp_arithmetic.h"
#include "plugins/dsp_stub/core/dsp_compute.h"

int64_t dsp_requantise(int64_t value, int32_t multiplier, uint32_t shift) {
  return dsp_round_shift(dsp_clamp(value, INT32_MIN, INT32_MAX) * multiplier, shift);
}

int64_t dsp_requantise_wide(int64_t value, int16_t multiplier, uint32_t shift) {
  const int64_t most = ((int64_t)1 << 47) - 1;
  const int64_t product = dsp_clamp(value, -most - 1, most) * multiplier;
  return shift == 0 ? product : dsp_round_shift(product, shift);
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

// The same for int16 input or weights. Sums of 32,768 products have less than 48 bits.
static int64_t dot_wide(const uint8_t* x, const uint8_t* w, uint32_t count, int32_t x_zero, int32_t w_zero,
                        uint32_t wide) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i)
    sum += (int64_t)(dsp_load_code(x, i, wide & DSP_WIDE_FIRST) - x_zero) *
           (dsp_load_code(w, i, wide & DSP_WIDE_SECOND) - w_zero);
  return sum;
}

static int32_t weight_zero(const uint8_t* channel, uint32_t wide) {
  return (wide & DSP_WIDE_SECOND) != 0 ? dsp_load_code(channel + DSP_CHANNEL_WIDE_ZERO, 0, 1)
                                       : (int8_t)channel[DSP_CHANNEL_ZERO];
}

// Sums over all taps of one output element. `channel` is an index in the block.
static int64_t sum_taps(const uint32_t* w, const uint8_t* tcm, uint32_t y, uint32_t x, uint32_t channel) {
  const uint8_t* input = tcm + w[DSP_CONV_INPUT];
  const uint32_t group_in = w[DSP_CONV_GROUP_IN], kernel_h = w[DSP_CONV_KERNEL_H],
                 kernel_w = w[DSP_CONV_KERNEL_W];
  const uint32_t operands = w[DSP_CONV_WIDE] & (DSP_WIDE_FIRST | DSP_WIDE_SECOND);
  const size_t in_bytes = (operands & DSP_WIDE_FIRST) != 0 ? 2 : 1,
               weight_bytes = (operands & DSP_WIDE_SECOND) != 0 ? 2 : 1;
  const uint8_t* weights =
      tcm + w[DSP_CONV_WEIGHTS] + (size_t)channel * kernel_h * kernel_w * group_in * weight_bytes;
  const int32_t in_zero = (int32_t)w[DSP_CONV_IN_ZERO],
                w_zero =
                    weight_zero(tcm + w[DSP_CONV_CHANNELS] + (size_t)channel * DSP_CHANNEL_BYTES, operands);
  const size_t first = (size_t)((w[DSP_CONV_FIRST_OUT] + channel) / w[DSP_CONV_GROUP_OUT]) * group_in;
  int32_t sum = 0;
  int64_t wide_sum = 0;
  for (uint32_t ky = 0; ky < kernel_h; ++ky) {
    const int64_t row =
        source_index(y, ky, w[DSP_CONV_STRIDE_H], w[DSP_CONV_DILATION_H], (int32_t)w[DSP_CONV_PADDING_TOP],
                     w[DSP_CONV_IN_H], w[DSP_CONV_IS_TRANSPOSED]);
    if (row < 0) continue;
    for (uint32_t kx = 0; kx < kernel_w; ++kx) {
      const int64_t column =
          source_index(x, kx, w[DSP_CONV_STRIDE_W], w[DSP_CONV_DILATION_W], (int32_t)w[DSP_CONV_PADDING_LEFT],
                       w[DSP_CONV_IN_W], w[DSP_CONV_IS_TRANSPOSED]);
      if (column < 0) continue;
      const size_t at = ((size_t)row * w[DSP_CONV_IN_W] + (size_t)column) * w[DSP_CONV_IN_C] + first;
      const uint8_t* tap = weights + ((size_t)ky * kernel_w + kx) * group_in * weight_bytes;
      if (operands != 0)
        wide_sum += dot_wide(input + at * in_bytes, tap, group_in, in_zero, w_zero, operands);
      else
        sum += dot((const int8_t*)input + at, (const int8_t*)tap, group_in, in_zero, w_zero);
    }
  }
  return operands != 0 ? wide_sum : sum;
}

// Adds the bias of a channel to its sum, and brings it to the scale of the result.
static int64_t rescaled(int64_t sum, const uint8_t* channel, uint32_t is_wide) {
  if (!is_wide)
    return dsp_requantise(sum + dsp_load_i32(channel), dsp_load_i32(channel + 4), channel[DSP_CHANNEL_SHIFT]);
  const int64_t bias =
      (int64_t)dsp_load_u32(channel) + (int64_t)dsp_load_code(channel + 4, 0, 1) * ((int64_t)1 << 32);
  return dsp_requantise_wide(sum + bias, (int16_t)dsp_load_code(channel + 6, 0, 1),
                             channel[DSP_CHANNEL_SHIFT]);
}

void dsp_conv(const uint32_t* w, uint8_t* tcm) {
  for (uint32_t y = 0; y < w[DSP_CONV_OUT_H]; ++y)
    for (uint32_t x = 0; x < w[DSP_CONV_OUT_W]; ++x) {
      const size_t pixel = ((size_t)y * w[DSP_CONV_OUT_W] + x) * w[DSP_CONV_PIXEL_STRIDE];
      for (uint32_t c = 0; c < w[DSP_CONV_OUT_C]; ++c) {
        const int64_t value =
            rescaled(sum_taps(w, tcm, y, x, c), tcm + w[DSP_CONV_CHANNELS] + (size_t)c * DSP_CHANNEL_BYTES,
                     w[DSP_CONV_WIDE] & (DSP_WIDE_FIRST | DSP_WIDE_SECOND));
        dsp_store_code(tcm + w[DSP_CONV_OUTPUT], pixel + c, w[DSP_CONV_WIDE] & DSP_WIDE_RESULT,
                       dsp_to_code(value, (int32_t)w[DSP_CONV_OUT_ZERO], (int32_t)w[DSP_CONV_LOW],
                                   (int32_t)w[DSP_CONV_HIGH]));
      }
    }
}
