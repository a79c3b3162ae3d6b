// SPDX-License-Identifier: Apache-2.0
// Half and BFloat16: 16-bit floats for storage. Arithmetic uses float. The conversions have no branches, so
// that loops over them vectorise.
#pragma once

#include <cstdint>

// Always inline and without library templates, because files compiled for several CPUs use them
// (kernels/vector/variant.hpp).
#define ETB_FORCE_INLINE inline __attribute__((always_inline))

namespace etb::host {

struct Half {
  uint16_t bits;
};

struct BFloat16 {
  uint16_t bits;
};

ETB_FORCE_INLINE float to_float(BFloat16 value) noexcept {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}

// Rounds to nearest even. A NaN stays a NaN.
ETB_FORCE_INLINE BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
  return {static_cast<uint16_t>(value != value ? 0x7FC0u : rounded)};
}

ETB_FORCE_INLINE float to_float(Half value) noexcept {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7FFFu) << 13;
  // 2^112 moves the exponent bias from 15 to 127 and makes subnormals normal. Infinities and NaNs keep
  // exponent 255.
  const float scaled = __builtin_bit_cast(float, magnitude) * 0x1.0p112f;
  const uint32_t special = magnitude >= (0x7C00u << 13) ? 0x7F800000u : 0u;
  return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, scaled) | special | sign);
}

// Rounds to nearest even, overflows to infinity. A NaN stays a NaN.
ETB_FORCE_INLINE Half to_half(float value) noexcept {
  const auto bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  // Normal results: rebias, and round on bit 13. Subnormal results: adding 0.5 lets the
  // float adder shift and round.
  const uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  const uint32_t subnormal =
      __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3F000000u;
  const uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
  const uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
  return {static_cast<uint16_t>((magnitude >= 0x477FF000u ? special : finite) | sign)};
}

}  // namespace etb::host
