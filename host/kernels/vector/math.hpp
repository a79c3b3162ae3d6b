// SPDX-License-Identifier: Apache-2.0
// Mathematics for loops: float versions without branches and calls, so that compilers vectorise them; double versions from libm.
//
// The float polynomials are our own fits (iterated weighted least squares on Chebyshev nodes, rounded to float); their error
// over the whole range is measured by math_test.cpp against libm in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "host/kernels/orthogonal_polynomials.hpp"
#include "host/kernels/special_functions.hpp"
#include "host/kernels/vector/variant.hpp"

namespace etb::host::ETB_VARIANT {

template <class To, class From>
ETB_INLINE To v_bits(From value) {
  return __builtin_bit_cast(To, value);
}
template <class T>
ETB_INLINE T v_infinity() {
  return static_cast<T>(__builtin_inf());
}
// Unsigned twin: overflow wraps as PyTorch's does, without undefined behaviour.
ETB_INLINE uint64_t v_wrap(int64_t x) { return static_cast<uint64_t>(x); }
ETB_INLINE int64_t v_negate(int64_t x) { return static_cast<int64_t>(0 - static_cast<uint64_t>(x)); }

#define ETB_LIBM(name)                                                  \
  ETB_INLINE float v_##name(float x) { return __builtin_##name##f(x); } \
  ETB_INLINE double v_##name(double x) { return __builtin_##name(x); }
ETB_LIBM(ceil)
ETB_LIBM(floor)
ETB_LIBM(trunc)
ETB_LIBM(sqrt)
ETB_LIBM(acos)
ETB_LIBM(acosh)
ETB_LIBM(asin)
ETB_LIBM(asinh)
ETB_LIBM(atan)
ETB_LIBM(atanh)
ETB_LIBM(cos)
ETB_LIBM(cosh)
ETB_LIBM(erfc)
ETB_LIBM(expm1)
ETB_LIBM(log10)
ETB_LIBM(log1p)
ETB_LIBM(log2)
ETB_LIBM(sin)
ETB_LIBM(sinh)
ETB_LIBM(tan)
#undef ETB_LIBM

ETB_INLINE float v_abs(float x) { return __builtin_fabsf(x); }
ETB_INLINE double v_abs(double x) { return __builtin_fabs(x); }
// Half to even, as the default rounding mode says.
ETB_INLINE float v_round(float x) { return __builtin_nearbyintf(x); }
ETB_INLINE double v_round(double x) { return __builtin_nearbyint(x); }
// Rounds to `bits` significant bits, half to even; 0 leaves x as it is. Splits off the tail as Dekker does, so no branch.
template <class T>
ETB_INLINE T v_round_bits(T x, T bits) {
  if (bits == 0) return x;
  const T factor = static_cast<T>((1 << (sizeof(T) == 4 ? 24 - static_cast<int>(bits) : 0)) + 1);
  volatile T scaled = x * factor;  // contraction to a fused multiply-add would undo the split
  const T head = scaled - (scaled - x);
  return v_abs(x) < T(1e30) ? head : x;
}
ETB_INLINE float v_copysign(float x, float sign) {
  return v_bits<float>((v_bits<uint32_t>(x) & 0x7FFFFFFFu) | (v_bits<uint32_t>(sign) & 0x80000000u));
}

// e^x, within 1 ulp of the true value for normal results. n = round(x / ln 2) comes from adding 1.5 * 2^23, which leaves n in
// the low bits; 2^n is applied in two steps, so that results near the ends of the range neither overflow nor vanish early.
ETB_INLINE float v_exp(float x) {
  constexpr float kShift = 0x1.8p23f;
  const float clamped = x > 89.0f ? 89.0f : (x < -104.0f ? -104.0f : x);
  const float shifted = clamped * 1.44269504f + kShift;
  const float n = shifted - kShift;
  const float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  float series = 0.0013951717f;
  series = series * r + 0.008369599f;
  series = series * r + 0.041666187f;
  series = series * r + 0.16666512f;
  series = series * r + 0.5f;
  const float result = (series * r) * r + r + 1.0f;
  const int32_t exponent = v_bits<int32_t>(shifted) - v_bits<int32_t>(kShift);
  const int32_t first = exponent >> 1, second = exponent - first;
  const float scaled = result * v_bits<float>((first + 127) << 23) * v_bits<float>((second + 127) << 23);
  return x != x ? x : scaled;
}
ETB_INLINE double v_exp(double x) { return __builtin_exp(x); }

// ln x, within 1 ulp. Subnormals are scaled up first.
ETB_INLINE float v_log(float x) {
  const bool is_small = x < 0x1.0p-126f;
  const float scaled = is_small ? x * 0x1.0p25f : x;
  const auto bits = static_cast<int32_t>(
      v_bits<uint32_t>(scaled) - 0x3F3504F3u);  // sqrt(1/2): the mantissa lands in [sqrt(1/2), sqrt(2))
  const float exponent = static_cast<float>(bits >> 23) - (is_small ? 25.0f : 0.0f);
  const float f = v_bits<float>((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
  float series = 0.06746601f;
  series = series * f + -0.11675641f;
  series = series * f + 0.11888175f;
  series = series * f + -0.124055915f;
  series = series * f + 0.14219551f;
  series = series * f + -0.16667996f;
  series = series * f + 0.20002119f;
  series = series * f + -0.2500001f;
  series = series * f + 0.33333313f;
  const float tail = series * f * f * f + exponent * 1.42860677e-6f - 0.5f * f * f;
  const float result = exponent * 0.693145752f + (f + tail);
  const float special = x == 0.0f ? -v_infinity<float>() : (x > 0.0f ? x : __builtin_nanf(""));
  return x > 0.0f && x < v_infinity<float>() ? result : special;
}
ETB_INLINE double v_log(double x) { return __builtin_log(x); }

ETB_INLINE float v_tanh(float x) {
  const float magnitude = v_abs(x), square = x * x;
  float series = -0.005717037f;
  series = series * square + 0.020650579f;
  series = series * square + -0.053743497f;
  series = series * square + 0.13331491f;
  series = series * square + -0.33333284f;
  const float small = series * square * x + x;
  const float large = v_copysign(1.0f - 2.0f / (v_exp(2.0f * magnitude) + 1.0f), x);
  return magnitude < 0.625f ? small : (x != x ? x : large);
}
ETB_INLINE double v_tanh(double x) { return __builtin_tanh(x); }

// From e^-|x|, which cannot overflow, so that results keep their digits down to the subnormals.
ETB_INLINE float v_sigmoid(float x) {
  const float e = v_exp(-v_abs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
ETB_INLINE double v_sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }

// Below 0.92 an odd polynomial, above it 1 - exp(polynomial); from 4 on it rounds to 1.
ETB_INLINE float v_erf(float x) {
  const float magnitude = v_abs(x), square = x * x;
  float small = 8.345225e-05f;
  small = small * square + -0.00081374374f;
  small = small * square + 0.0052006342f;
  small = small * square + -0.02685927f;
  small = small * square + 0.11283694f;
  small = small * square + -0.37612635f;
  small = small * square + 0.12837917f;
  small = small * x + x;
  const float t = magnitude > 4.0f ? 4.0f : magnitude;
  float large = -2.2590384e-06f;
  large = large * t + 3.606612e-05f;
  large = large * t + -0.0002288214f;
  large = large * t + 0.000552462f;
  large = large * t + 0.0017221626f;
  large = large * t + -0.021157652f;
  large = large * t + 0.10409879f;
  large = large * t + 0.63612497f;
  large = large * t + 0.1284598f;
  large = v_copysign(1.0f - v_exp(-(large * t + t)), x);
  return magnitude < 0.92f ? small : (x != x ? x : large);
}
ETB_INLINE double v_erf(double x) { return __builtin_erf(x); }

// A NaN bound or value gives NaN; high wins where low > high.
template <class T>
ETB_INLINE T v_clamp(T x, T low, T high) {
  const T above = x < low || low != low ? low : x;
  const T both = above > high || high != high ? high : above;
  return x != x ? x : both;
}

template <class T>
ETB_INLINE T v_logit(T x, T eps, T bits) {
  const T inside = eps < 0 ? x : (x < eps ? eps : (x > T(1) - eps ? T(1) - eps : x));
  return v_log(v_round_bits(inside / v_round_bits(T(1) - inside, bits), bits));
}

ETB_INLINE float v_atan2(float y, float x) { return __builtin_atan2f(y, x); }
ETB_INLINE double v_atan2(double y, double x) { return __builtin_atan2(y, x); }
ETB_INLINE float v_fmod(float x, float y) { return __builtin_fmodf(x, y); }
ETB_INLINE double v_fmod(double x, double y) { return __builtin_fmod(x, y); }

ETB_INLINE float v_hypot(float x, float y) { return __builtin_hypotf(x, y); }
ETB_INLINE double v_hypot(double x, double y) { return __builtin_hypot(x, y); }

// The neighbour of x towards y. `cut` is the number of low bits of a float that the dtype lacks: 16 for bfloat16, 13 for float16,
// whose subnormals are floats of equal distance.
ETB_INLINE float v_nextafter(float x, float y, float cut) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  const bool is_half = cut == 13.0f;
  const uint32_t step = 1u << static_cast<uint32_t>(cut);
  const float least = is_half ? 0x1p-24f : v_bits<float>(step);
  if (x == 0) return __builtin_copysignf(least, y);
  const bool grows = (x < y) == (x > 0);
  const float magnitude = v_abs(x);
  if (is_half && magnitude == v_infinity<float>()) return __builtin_copysignf(65504.0f, x);
  if (is_half && (magnitude < 0x1p-14f || (magnitude == 0x1p-14f && !grows)))
    return __builtin_copysignf(x < y ? x + least : x - least, x);  // -0 after the last negative number
  const uint32_t bits = v_bits<uint32_t>(x);
  return v_bits<float>(grows ? bits + step : bits - step);
}
ETB_INLINE double v_nextafter(double x, double y, double) { return __builtin_nextafter(x, y); }

ETB_INLINE int64_t v_gcd(int64_t x, int64_t y) {
  while (y != 0) {
    const int64_t rest = y == -1 ? 0 : x % y;
    x = y;
    y = rest;
  }
  return x < 0 ? v_negate(x) : x;
}
ETB_INLINE int64_t v_lcm(int64_t x, int64_t y) {
  const int64_t divisor = v_gcd(x, y);
  if (divisor == 0) return 0;
  const auto product = static_cast<int64_t>(v_wrap(x / divisor) * v_wrap(y));
  return product < 0 ? v_negate(product) : product;
}

// x^2 is what layer and RMS norms need; it must not cost a call.
ETB_INLINE float v_pow(float x, float y) { return y == 2.0f ? x * x : __builtin_powf(x, y); }
ETB_INLINE double v_pow(double x, double y) { return y == 2.0 ? x * x : __builtin_pow(x, y); }

// Integer division by zero gives 0 here; kernels refuse it before they get here.
ETB_INLINE int64_t v_div_trunc(int64_t x, int64_t y) { return y == 0 ? 0 : (y == -1 ? v_negate(x) : x / y); }
ETB_INLINE int64_t v_fmod(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
ETB_INLINE int64_t v_remainder(int64_t x, int64_t y) {
  const int64_t rest = v_fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
ETB_INLINE int64_t v_div_floor(int64_t x, int64_t y) {
  const int64_t quotient = v_div_trunc(x, y);
  return v_fmod(x, y) != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

template <class T>
ETB_INLINE T v_remainder(T x, T y) {
  const T rest = v_fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// Python's floor division of reals: the quotient of the exact difference from the remainder, so that it agrees with remainder.
template <class T>
ETB_INLINE T v_div_floor(T x, T y) {
  if (y == 0) return x / y;
  const T rest = v_fmod(x, y);
  T quotient = (x - rest) / y;
  if (rest != 0 && (y < 0) != (rest < 0)) quotient -= T(1);
  if (quotient == 0) return static_cast<T>(__builtin_copysign(0.0, static_cast<double>(x / y)));
  T down = v_floor(quotient);
  if (quotient - down > T(0.5)) down += T(1);
  return down;
}

// Negative exponents: only 1 and -1 have an integer reciprocal; everything else gives 0.
ETB_INLINE int64_t v_pow(int64_t x, int64_t y) {
  if (y < 0) return x == 1 ? 1 : (x == -1 ? (y & 1 ? -1 : 1) : 0);
  uint64_t base = v_wrap(x), result = 1;
  for (uint64_t rest = v_wrap(y); rest != 0; rest >>= 1) {
    if (rest & 1) result *= base;
    base *= base;
  }
  return static_cast<int64_t>(result);
}

}  // namespace etb::host::ETB_VARIANT
