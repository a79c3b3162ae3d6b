// SPDX-License-Identifier: Apache-2.0
// Pools, arithmetic between codes, tables, softmax and gather of the compute engine.
#include "plugins/dsp_stub/core/dsp_compute.h"

#include <string.h>

#include "plugins/dsp_stub/core/dsp_arithmetic.h"

// One window: the elements that are no padding, their sum and their largest code.
typedef struct window {
  uint32_t count;
  int64_t sum;
  int32_t largest;
} window;

static window read_window(const uint32_t* w, const uint8_t* input, uint32_t y, uint32_t x, uint32_t c) {
  const uint32_t is_wide = w[DSP_POOL_WIDE] & DSP_WIDE_FIRST;
  window out = {0, 0, is_wide ? INT16_MIN : INT8_MIN};
  const int32_t zero = (int32_t)w[DSP_POOL_IN_ZERO];
  for (uint32_t ky = 0; ky < w[DSP_POOL_KERNEL_H]; ++ky) {
    const int64_t row = (int64_t)y * w[DSP_POOL_STRIDE_H] - (int32_t)w[DSP_POOL_PADDING_TOP] +
                        (int64_t)ky * w[DSP_POOL_DILATION_H];
    if (row < 0 || row >= w[DSP_POOL_IN_H]) continue;
    for (uint32_t kx = 0; kx < w[DSP_POOL_KERNEL_W]; ++kx) {
      const int64_t column = (int64_t)x * w[DSP_POOL_STRIDE_W] - (int32_t)w[DSP_POOL_PADDING_LEFT] +
                             (int64_t)kx * w[DSP_POOL_DILATION_W];
      if (column < 0 || column >= w[DSP_POOL_IN_W]) continue;
      const size_t at = ((size_t)row * w[DSP_POOL_IN_W] + (size_t)column) * w[DSP_POOL_IN_C] + c;
      const int32_t code = dsp_load_code(input, at, is_wide);
      ++out.count;
      out.sum += code - zero;
      if (out.largest < code) out.largest = code;
    }
  }
  return out;
}

// CMSIS-NN's average of codes, beside the zero point.
static int64_t average_of_codes(const uint32_t* w, const window* found) {
  if (found->count == 0) return 0;
  const int64_t zero = (int32_t)w[DSP_POOL_IN_ZERO], count = found->count, sum = found->sum + count * zero;
  return (sum < 0 ? sum - count / 2 : sum + count / 2) / count - zero;
}

static int64_t pool_value(const uint32_t* w, const uint8_t* tcm, const window* found) {
  if (w[DSP_POOL_KIND] == DSP_POOL_AVERAGE_OF_CODES) return average_of_codes(w, found);
  int32_t multiplier = (int32_t)w[DSP_POOL_MULTIPLIER];
  uint32_t shift = w[DSP_POOL_SHIFT];
  if (w[DSP_POOL_KIND] == DSP_POOL_AVERAGE_BY_COUNT && found->count != 0) {
    const uint8_t* scale = tcm + w[DSP_POOL_SCALES] + 8 * (size_t)(found->count - 1);
    multiplier = dsp_load_i32(scale);
    shift = dsp_load_u32(scale + 4);
  }
  const int64_t value =
      w[DSP_POOL_KIND] == DSP_POOL_MAX ? found->largest - (int32_t)w[DSP_POOL_IN_ZERO] : found->sum;
  return dsp_round_even(value * multiplier, shift);
}

void dsp_pool(const uint32_t* w, uint8_t* tcm) {
  const uint8_t* input = tcm + w[DSP_POOL_INPUT];
  uint8_t* output = tcm + w[DSP_POOL_OUTPUT];
  size_t at = 0;
  for (uint32_t y = 0; y < w[DSP_POOL_OUT_H]; ++y)
    for (uint32_t x = 0; x < w[DSP_POOL_OUT_W]; ++x)
      for (uint32_t c = 0; c < w[DSP_POOL_IN_C]; ++c) {
        const window found = read_window(w, input, y, x, c);
        dsp_store_code(output, at++, w[DSP_POOL_WIDE] & DSP_WIDE_RESULT,
                       dsp_to_code(pool_value(w, tcm, &found), (int32_t)w[DSP_POOL_OUT_ZERO],
                                   (int32_t)w[DSP_POOL_LOW], (int32_t)w[DSP_POOL_HIGH]));
      }
}

void dsp_binary(const uint32_t* w, uint8_t* tcm) {
  const uint8_t* a = tcm + w[DSP_BINARY_A];
  const uint8_t* b = tcm + w[DSP_BINARY_B];
  const uint32_t a_wide = w[DSP_BINARY_WIDE] & DSP_WIDE_FIRST, b_wide = w[DSP_BINARY_WIDE] & DSP_WIDE_SECOND;
  uint8_t* output = tcm + w[DSP_BINARY_OUTPUT];
  const int32_t a_zero = (int32_t)w[DSP_BINARY_A_ZERO], b_zero = (int32_t)w[DSP_BINARY_B_ZERO];
  const int64_t a_multiplier = (int32_t)w[DSP_BINARY_A_MULTIPLIER],
                b_multiplier = (int32_t)w[DSP_BINARY_B_MULTIPLIER];
  for (uint32_t i = 0; i < w[DSP_BINARY_COUNT]; ++i) {
    const int64_t left = dsp_load_code(a, i, a_wide) - a_zero, right = dsp_load_code(b, i, b_wide) - b_zero;
    const int64_t scaled_left = left * a_multiplier, scaled_right = right * b_multiplier;
    int64_t value = 0;
    switch (w[DSP_BINARY_KIND]) {
      case DSP_BINARY_ADD:
        value = scaled_left + scaled_right;
        break;
      case DSP_BINARY_MULTIPLY:
        value = scaled_left * right;
        break;
      case DSP_BINARY_MAXIMUM:
        value = scaled_left > scaled_right ? scaled_left : scaled_right;
        break;
      default:
        value = scaled_left < scaled_right ? scaled_left : scaled_right;
    }
    dsp_store_code(output, i, w[DSP_BINARY_WIDE] & DSP_WIDE_RESULT,
                   dsp_to_code(dsp_round_even(value, w[DSP_BINARY_SHIFT]), (int32_t)w[DSP_BINARY_OUT_ZERO],
                               (int32_t)w[DSP_BINARY_LOW], (int32_t)w[DSP_BINARY_HIGH]));
  }
}

int64_t dsp_interpolate(int32_t before, int32_t after, uint32_t rest, uint32_t fraction,
                        uint32_t sample_bits) {
  const int64_t value = (int64_t)before * (1 << fraction) + (int64_t)(after - before) * (int32_t)rest;
  return dsp_round_shift(value, fraction + sample_bits);
}

static int64_t interpolated(const uint8_t* table, int32_t code, uint32_t fraction, uint32_t sample_bits) {
  const uint32_t at = (uint32_t)(code + 32768), index = at >> fraction;
  return dsp_interpolate(dsp_load_code(table, index, 1), dsp_load_code(table, index + 1, 1),
                         at & ((1u << fraction) - 1), fraction, sample_bits);
}

void dsp_table(const uint32_t* w, uint8_t* tcm) {
  const uint8_t* input = tcm + w[DSP_TABLE_INPUT];
  uint8_t* output = tcm + w[DSP_TABLE_OUTPUT];
  const uint8_t* table = tcm + w[DSP_TABLE_TABLE];
  const uint32_t in_wide = w[DSP_TABLE_WIDE] & DSP_WIDE_FIRST, out_wide = w[DSP_TABLE_WIDE] & DSP_WIDE_RESULT;
  for (uint32_t i = 0; i < w[DSP_TABLE_COUNT]; ++i) {
    const int32_t code = dsp_load_code(input, i, in_wide);
    if (!in_wide)
      dsp_store_code(output, i, out_wide, dsp_load_code(table, (size_t)(code + 128), out_wide));
    else if (out_wide)
      dsp_store_code(output, i, 1, interpolated(table, code, w[DSP_TABLE_FRACTION], 0));
    else
      dsp_store_code(
          output, i, 0,
          dsp_clamp(interpolated(table, code, w[DSP_TABLE_FRACTION], DSP_SAMPLE_BITS), INT8_MIN, INT8_MAX));
  }
}

// Entries above 1 count as 1, so that no sum overflows.
static uint64_t exponential(const uint8_t* table, int32_t distance) {
  const uint32_t entry = dsp_load_u32(table + 4 * (size_t)distance);
  return entry > DSP_SOFTMAX_ONE ? DSP_SOFTMAX_ONE : entry;
}

// exp(-distance * scale) with 32 fraction bits. It is at most 2^32, so that sums of 65,536 have less than 49 bits.
static uint64_t wide_exponential(const uint8_t* table, int32_t distance) {
  const uint32_t high = dsp_load_u32(table + 4 * (size_t)(distance >> 8)),
                 low = dsp_load_u32(table + 1024 + 4 * (size_t)(distance & 255)), one = DSP_SOFTMAX_WIDE_ONE;
  const uint64_t product = (uint64_t)(high > one ? one : high) * (low > one ? one : low);
  return (product + ((uint64_t)1 << 29)) >> 30;
}

// Rows of int16 codes, before or after. INVERSE has at most 30 bits.
static void softmax_wide(const uint32_t* w, uint8_t* tcm) {
  const uint8_t* table = tcm + w[DSP_SOFTMAX_TABLE];
  const uint8_t* input = tcm + w[DSP_SOFTMAX_INPUT];
  uint8_t* output = tcm + w[DSP_SOFTMAX_OUTPUT];
  const uint32_t in_wide = w[DSP_SOFTMAX_WIDE] & DSP_WIDE_FIRST,
                 out_wide = w[DSP_SOFTMAX_WIDE] & DSP_WIDE_RESULT;
  const int32_t low = out_wide ? INT16_MIN : INT8_MIN, high = out_wide ? INT16_MAX : INT8_MAX;
  const size_t columns = w[DSP_SOFTMAX_COLUMNS];
  for (size_t row = 0; row < w[DSP_SOFTMAX_ROWS]; ++row) {
    const size_t first = row * columns;
    int32_t largest = INT16_MIN;
    uint64_t sum = 0;
    for (size_t i = first; i < first + columns; ++i) {
      const int32_t code = dsp_load_code(input, i, in_wide);
      if (largest < code) largest = code;
    }
    for (size_t i = first; i < first + columns; ++i)
      sum += wide_exponential(table, largest - dsp_load_code(input, i, in_wide));
    if (sum == 0) sum = 1;
    for (size_t i = first; i < first + columns; ++i) {
      const uint64_t scaled =
          wide_exponential(table, largest - dsp_load_code(input, i, in_wide)) * w[DSP_SOFTMAX_INVERSE];
      const uint64_t code = (scaled + (sum << 7)) / (sum << 8);
      dsp_store_code(output, i, out_wide,
                     dsp_to_code((int64_t)code, (int32_t)w[DSP_SOFTMAX_OUT_ZERO], low, high));
    }
  }
}

void dsp_softmax(const uint32_t* w, uint8_t* tcm) {
  if (w[DSP_SOFTMAX_WIDE] != 0) {
    softmax_wide(w, tcm);
    return;
  }
  const uint8_t* table = tcm + w[DSP_SOFTMAX_TABLE];
  const uint32_t columns = w[DSP_SOFTMAX_COLUMNS];
  for (uint32_t row = 0; row < w[DSP_SOFTMAX_ROWS]; ++row) {
    const int8_t* input = (const int8_t*)tcm + w[DSP_SOFTMAX_INPUT] + (size_t)row * columns;
    uint8_t* output = tcm + w[DSP_SOFTMAX_OUTPUT] + (size_t)row * columns;
    int32_t largest = -128;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < columns; ++i)
      if (largest < input[i]) largest = input[i];
    for (uint32_t i = 0; i < columns; ++i) sum += exponential(table, largest - input[i]);
    if (sum == 0) sum = 1;
    for (uint32_t i = 0; i < columns; ++i) {
      const uint64_t scaled = exponential(table, largest - input[i]) * w[DSP_SOFTMAX_INVERSE];
      const uint64_t code = (scaled + (sum << 15)) / (sum << 16);
      output[i] = (uint8_t)dsp_to_code((int64_t)code, (int32_t)w[DSP_SOFTMAX_OUT_ZERO], -128, 127);
    }
  }
}

static uint32_t index_at(const uint8_t* indices, uint32_t at, uint32_t extent) {
  const uint32_t index = (uint32_t)indices[2 * (size_t)at] | (uint32_t)indices[2 * (size_t)at + 1] << 8;
  return index < extent ? index : extent - 1;
}

void dsp_gather(const uint32_t* w, uint8_t* tcm) {
  const uint8_t* rows = tcm + w[DSP_GATHER_INDICES];
  const uint8_t* columns = rows + 2 * (size_t)w[DSP_GATHER_OUT_H];
  const uint32_t channels = w[DSP_GATHER_IN_C];
  uint8_t* output = tcm + w[DSP_GATHER_OUTPUT];
  for (uint32_t y = 0; y < w[DSP_GATHER_OUT_H]; ++y)
    for (uint32_t x = 0; x < w[DSP_GATHER_OUT_W]; ++x, output += channels) {
      const size_t row = index_at(rows, y, w[DSP_GATHER_IN_H]),
                   column = index_at(columns, x, w[DSP_GATHER_IN_W]);
      memcpy(output, tcm + w[DSP_GATHER_INPUT] + (row * w[DSP_GATHER_IN_W] + column) * channels, channels);
    }
}
