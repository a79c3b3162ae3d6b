// SPDX-License-Identifier: Apache-2.0
// Products of int8 matrices with int32 sums, and the way from sums to int8 codes, for the ops of cortex_m.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/runtime/evalue.hpp"
#include "host/runtime/kernel_context.hpp"

namespace etb::host {

// A factor of multiplier / 2^31 * 2^shift. A file chooses both.
struct Rescale {
  int32_t multiplier, shift;

  static constexpr int32_t kLeastShift = -31, kLargestShift = 30;
  // A multiplier is not negative, so that each product fits into 32 bits.
  static bool is_valid(int64_t multiplier, int64_t shift) noexcept {
    return multiplier >= 0 && multiplier <= INT32_MAX && shift >= kLeastShift && shift <= kLargestShift;
  }
  // From two arguments of an op.
  static etb_status read(KernelContext& context, int64_t multiplier, int64_t shift,
                         Rescale* out_rescale) noexcept;

  // The product, rounded twice, as CMSIS-NN does without CMSIS_NN_USE_SINGLE_ROUNDING: to 2^-31, halves upwards, then by the
  // negative shift, halves away from 0. A value that a positive shift moves out of 32 bits saturates.
  int32_t apply(int32_t value) const noexcept {
    const int bounded =
        std::clamp(shift, kLeastShift, kLargestShift);  // memory of the caller may have changed
    if (bounded > 0) {
      const int64_t moved = static_cast<int64_t>(value) * (int64_t{1} << bounded);
      value = static_cast<int32_t>(std::clamp<int64_t>(moved, INT32_MIN, INT32_MAX));
    }
    const auto high =
        static_cast<int32_t>((static_cast<int64_t>(value) * multiplier + (int64_t{1} << 30)) >> 31);
    if (bounded >= 0) return high;
    const auto mask = static_cast<int32_t>((uint32_t{1} << -bounded) - 1);
    const int32_t result = high >> -bounded;
    return result + ((high & mask) > (mask >> 1) + (result < 0 ? 1 : 0) ? 1 : 0);
  }
};

// Where codes end: an offset, and the range that an activation leaves.
struct CodeRange {
  int32_t offset = 0, low = -128, high = 127;

  // From the arguments of an op: all are int8 codes, and the range is not empty.
  static etb_status read(KernelContext& context, int64_t offset, int64_t low, int64_t high,
                         CodeRange* out_range) noexcept;

  int8_t code(int32_t rescaled) const noexcept {
    return static_cast<int8_t>(std::clamp(rescaled, low - offset, high - offset) + offset);
  }
};

// Reads an input offset, the negative of a zero point: -127 to 128.
etb_status read_input_offset(KernelContext& context, int64_t offset, int32_t* out_offset) noexcept;

// Int32 tensors with one row-major entry for each of `count` channels, shifts in range.
etb_status check_rescales(KernelContext& context, const Tensor& multipliers, const Tensor& shifts,
                          int64_t count) noexcept;
// The same for a bias, which may be null.
etb_status check_bias(KernelContext& context, const Tensor* bias, int64_t count) noexcept;

// out[row, channel] = code of the sum over k of rows[row, k] * (weights[channel, k] + weight_offset) + bias[channel]. Sums wrap at
// 32 bits.
struct IntegerProduct {
  int64_t k, row_count, channel_count;
  const int16_t* rows;    // inputs with their offset added; rows are k apart
  const int8_t* weights;  // rows are k apart
  int32_t weight_offset;
  const int32_t* bias;  // null: 0
  const int32_t *multipliers, *shifts;
  int64_t rescale_stride;  // 1: one for each channel, 0: one for all
  CodeRange codes;
  int8_t* out;
  int64_t out_row_stride, out_channel_stride;

  Rescale rescale(int64_t channel) const noexcept {
    return {multipliers[channel * rescale_stride], shifts[channel * rescale_stride]};
  }
};
etb_status run_product(KernelContext& context, const IntegerProduct& product) noexcept;

}  // namespace etb::host
