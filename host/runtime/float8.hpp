// SPDX-License-Identifier: Apache-2.0
// Float8: the four 8-bit floats, for storage. Arithmetic uses float. The conversions have no branches, as those of
// float16.hpp, and are always inline for the same reason.
#pragma once

#include <cstdint>

#include "host/runtime/float16.hpp"

namespace etb::host {

// Meaning of the codes at the end of the range.
enum class Float8Kind : uint8_t {
  kIeee,     // infinities and NaNs
  kFinite,   // one NaN of each sign, no infinity
  kUnsigned  // one NaN, which is the code of -0; no infinity
};

template <uint32_t kMantissaBits, uint32_t kBias, Float8Kind kKind>
struct Float8 {
  uint8_t bits;

  static constexpr uint32_t kShift = 23 - kMantissaBits;  // to the mantissa of a float
  static constexpr uint32_t kRebias = 127 - kBias;
  static constexpr uint32_t kNan = kKind == Float8Kind::kUnsigned ? 0x80 : 0x7F;
  static constexpr uint32_t kOverflow = kKind == Float8Kind::kIeee     ? 0x7C
                                        : kKind == Float8Kind::kFinite ? 0x7E
                                                                       : kNan;
  static constexpr uint32_t kLargest = kKind == Float8Kind::kIeee     ? 0x7B
                                       : kKind == Float8Kind::kFinite ? 0x7E
                                                                      : 0x7F;

  ETB_FORCE_INLINE static float decode(uint8_t bits) noexcept {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80u) << 24;
    const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7Fu) << kShift;
    // The product moves the exponent's bias to 127 and makes subnormals normal.
    const float scaled =
        __builtin_bit_cast(float, magnitude) * __builtin_bit_cast(float, (127 + kRebias) << 23);
    const bool is_special = kKind == Float8Kind::kIeee     ? (bits & 0x7Fu) >= 0x7Cu
                            : kKind == Float8Kind::kFinite ? (bits & 0x7Fu) == 0x7Fu
                                                           : bits == 0x80u;
    const bool is_infinite = kKind == Float8Kind::kIeee && (bits & 0x7Fu) == 0x7Cu;
    const uint32_t special = is_infinite ? 0x7F800000u : 0x7FC00000u;
    return __builtin_bit_cast(float, (is_special ? special : __builtin_bit_cast(uint32_t, scaled)) | sign);
  }

  // Rounds to nearest even. A number that does not fit becomes, as in PyTorch, an infinity (kIeee), the largest number (kFinite)
  // or a NaN (kUnsigned).
  ETB_FORCE_INLINE static uint8_t encode(float value) noexcept {
    const auto all = __builtin_bit_cast(uint32_t, value);
    const uint32_t sign = all >> 24 & 0x80u;
    const uint32_t magnitude = all & 0x7FFFFFFFu;
    const uint32_t normal =
        (magnitude - (kRebias << 23) + ((1u << (kShift - 1)) - 1) + (magnitude >> kShift & 1u)) >> kShift;
    // Adding this number lets the float adder shift and round.
    constexpr uint32_t kStep = (127 + 1 - kBias - kMantissaBits + 23) << 23;
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, __builtin_bit_cast(float, magnitude) +
                                                                __builtin_bit_cast(float, kStep)) -
                               kStep;
    const uint32_t finite = magnitude < ((kRebias + 1) << 23) ? subnormal : normal;
    const uint32_t fitting = finite > kLargest ? kOverflow : finite;
    const uint32_t code = magnitude > 0x7F800000u ? kNan : fitting;
    const bool has_sign = kKind != Float8Kind::kUnsigned || (code != 0 && code != kNan);
    return static_cast<uint8_t>(has_sign ? code | sign : code);
  }
};

using Float8E5M2 = Float8<2, 15, Float8Kind::kIeee>;
using Float8E4M3Fn = Float8<3, 7, Float8Kind::kFinite>;
using Float8E5M2Fnuz = Float8<2, 16, Float8Kind::kUnsigned>;
using Float8E4M3Fnuz = Float8<3, 8, Float8Kind::kUnsigned>;

}  // namespace etb::host
