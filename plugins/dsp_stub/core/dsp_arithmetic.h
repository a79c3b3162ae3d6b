// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of the compute engine, private to the core. Nothing here overflows for any memory
// contents.
#ifndef ETB_DSP_ARITHMETIC_H_
#define ETB_DSP_ARITHMETIC_H_

#include "plugins/dsp_stub/core/dsp_core.h"

static inline uint32_t dsp_load_u32(const uint8_t* bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline int32_t dsp_load_i32(const uint8_t* bytes) { return (int32_t)dsp_load_u32(bytes); }

static inline int64_t dsp_clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

// Divides by 2^shift, with ties towards plus infinity. |value| is less than 2^62 + 2^61.
static inline int64_t dsp_round_shift(int64_t value, uint32_t shift) {
  const uint32_t used = shift < 1 ? 1 : shift > 62 ? 62 : shift;
  return (value + ((int64_t)1 << (used - 1))) >> used;
}

// Divides by 2^shift, with ties to the even integer.
static inline int64_t dsp_round_even(int64_t value, uint32_t shift) {
  const uint32_t used = shift < 1 ? 1 : shift > 62 ? 62 : shift;
  const uint64_t rest = (uint64_t)value & (((uint64_t)1 << used) - 1), half = (uint64_t)1 << (used - 1);
  const int64_t down = value >> used;
  return down + (rest > half || (rest == half && (down & 1) != 0));
}

// Returns code `at` of int16 codes if `is_wide`, else of int8 codes.
static inline int32_t dsp_load_code(const uint8_t* codes, size_t at, uint32_t is_wide) {
  if (!is_wide) return (int8_t)codes[at];
  return (int16_t)(uint16_t)(codes[2 * at] | codes[2 * at + 1] << 8);
}

static inline void dsp_store_code(uint8_t* codes, size_t at, uint32_t is_wide, int64_t code) {
  if (is_wide) {
    codes[2 * at] = (uint8_t)code;
    codes[2 * at + 1] = (uint8_t)((uint64_t)code >> 8);
  } else {
    codes[at] = (uint8_t)code;
  }
}

// A code: the requantised value plus the zero point, limited to [low, high].
static inline int64_t dsp_to_code(int64_t value, int32_t zero, int32_t low, int32_t high) {
  return dsp_clamp(value + zero, low, high);
}

#endif
