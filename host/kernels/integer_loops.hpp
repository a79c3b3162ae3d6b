// SPDX-License-Identifier: Apache-2.0
// The hot loops of the ops of cortex_m: sums of products of int8 codes, and the way from sums to codes. One variant is compiled: for
// the vectors of Cortex-M55 (MVE), for the pairs of Cortex-M4 (DSP), or for any processor. Sums are unsigned, because they may wrap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace etb::host {

class EValue;

// A factor of multiplier / 2^31 * 2^shift. A file chooses both.
struct Rescale {
  int32_t multiplier, shift;

  static constexpr int32_t kLeastShift = -31, kLargestShift = 30;
  // A multiplier is not negative, so that each product fits into 32 bits.
  static bool is_valid(int64_t multiplier, int64_t shift) noexcept {
    // Unsigned, so that each range is one comparison.
    return static_cast<uint64_t>(multiplier) <= INT32_MAX &&
           static_cast<uint64_t>(shift) - static_cast<uint64_t>(kLeastShift) <= kLargestShift - kLeastShift;
  }

  // The product, rounded twice, as CMSIS-NN does without CMSIS_NN_USE_SINGLE_ROUNDING: to 2^-31, halves upwards, then by the
  // negative shift, halves away from 0. A value that a positive shift moves out of 32 bits saturates. Memory of the caller may have
  // changed since the check, so every shift has a defined result.
  int32_t apply(int32_t value) const noexcept {
    if (shift > 0) value = move_up(value, shift);
    const int32_t high = multiply_high(value);
    if (shift >= 0) return high;
    // Unsigned, because a multiplier that became negative may overflow.
    return move_down(static_cast<int32_t>(static_cast<uint32_t>(high) - (high < 0 ? 1 : 0)), -shift);
  }

 private:
  static int32_t move_up(int32_t value, int32_t shift) noexcept;

#if defined(__thumb2__)
  // A shift moves the last bit that it removes to the carry, which is the rounding.
  int32_t multiply_high(int32_t value) const noexcept {
    int32_t low, high;
    __asm__("smull %0, %1, %2, %3\n lsrs %0, %0, #31\n adc %0, %0, %1, lsl #1"
            : "=&r"(low), "=&r"(high)
            : "r"(value), "r"(multiplier)
            : "cc");
    return low;
  }
  static int32_t move_down(int32_t value, int32_t bits) noexcept {
    __asm__("asrs %0, %0, %1\n adc %0, %0, #0" : "+r"(value) : "r"(bits) : "cc");
    return value;
  }
#else
  int32_t multiply_high(int32_t value) const noexcept {
    return static_cast<int32_t>((static_cast<int64_t>(value) * multiplier + (int64_t{1} << 30)) >> 31);
  }
  static int32_t move_down(int32_t value, int32_t bits) noexcept {
    return static_cast<int32_t>(static_cast<uint32_t>(value >> ((bits - 1) & 31)) + 1) >> 1;
  }
#endif
};

// Where codes end: an offset, and the range that an activation leaves.
struct CodeLimits {
  int32_t offset = 0, low = -128, high = 127;

  int8_t code(int32_t rescaled) const noexcept {
    return static_cast<int8_t>(std::clamp(rescaled, low - offset, high - offset) + offset);
  }
};

// Rescales of channels: entries are `stride` apart, 0 for one that all share.
struct ChannelRescales {
  const int32_t *multipliers, *shifts;
  ptrdiff_t stride;

  ChannelRescales from(ptrdiff_t channel) const noexcept {
    return {multipliers + channel * stride, shifts + channel * stride, stride};
  }
};

// Lists of multipliers and shifts of 64 bits, and where they go.
struct RescaleCopy {
  EValue *const *multipliers, *const *shifts;
  int32_t *out_multipliers, *out_shifts;
};
// False if one of them is not valid: the copies must not be used then.
bool copy_rescales(const RescaleCopy& copy, size_t count) noexcept;

// Sum of so few codes that it fits.
int32_t sum_codes(const int8_t* codes, ptrdiff_t count) noexcept;

// Copies codes: usually so few that calling memcpy costs more.
void copy_codes(const int8_t* from, ptrdiff_t count, int8_t* to) noexcept;

// Channels whose sums are computed by one call: an even number.
inline constexpr ptrdiff_t kTile = 32;

// sums[r][c] = starts[r][c] + sum over i of x[r * x_step + i] * weights[c * weight_step + i], for one or two rows and up to kTile
// channels. Starts may be the sums themselves.
template <int kRows>
void add_row_products(const int8_t* x, ptrdiff_t x_step, const int8_t* weights, ptrdiff_t weight_step,
                      ptrdiff_t channels, ptrdiff_t count, const uint32_t* const (&starts)[2],
                      uint32_t (*sums)[kTile]) noexcept;

// The positions of a kernel that are inside of an image, and the distances to their neighbours.
struct DepthwiseWindow {
  ptrdiff_t rows, columns;
  ptrdiff_t input_row, input_column, weight_row, weight_column;
};
// sums[c] = starts[c] + sum over the window of x * weight, for neighbouring channels. Starts may be the sums themselves.
void add_window_products(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                         ptrdiff_t channels, const uint32_t* starts, uint32_t* sums) noexcept;

// out[c * out_step] = code of sums[c].
void store_codes(const ChannelRescales& rescales, const CodeLimits& limits, const uint32_t* sums,
                 ptrdiff_t channels, int8_t* out, ptrdiff_t out_step) noexcept;

}  // namespace etb::host
