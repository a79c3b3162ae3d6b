// SPDX-License-Identifier: Apache-2.0
// Special functions of floats as plain formulas, so that loops over them vectorise; doubles take the exact ones of special_functions.hpp.
// The polynomials interpolate at Chebyshev nodes, computed with 40 digits.
#pragma once

#include "host/kernels/special_functions.hpp"
#include "host/kernels/vector/math.hpp"

namespace etb::host::ETB_VARIANT {

// c0 + c1 * u + c2 * u^2 ...
template <class T>
ETB_INLINE T v_polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
ETB_INLINE T v_polynomial(T u, T c0, Rest... rest) {
  return c0 + u * v_polynomial(u, rest...);
}

// x times a function of w = -ln(1 - x^2): a polynomial of w below 4, above it one of its root. Within 3.5 ulp.
ETB_INLINE float v_erfinv(float x) {
  const float magnitude = v_abs(x);
  const float w = -v_log((1.0f - magnitude) * (1.0f + magnitude));
  const float root = v_sqrt(w);
  const float small =
      v_polynomial(w - 2.0f, 1.37721527f, 0.249768063f, -0.00196813303f, -0.00169215468f, 0.000215917127f,
                   7.59425802e-06f, -4.86048111e-06f, 3.07913893e-07f, 6.53832544e-08f, -1.02304707e-08f);
  const float large = v_polynomial(root - 3.0f, 2.83297682f, 1.00167489f, 0.00944568682f, -0.00763724511f,
                                   0.00568184908f, -0.00359533448f, 0.00150281389f, -6.65084153e-05f,
                                   -0.000328583672f, 0.000126512139f, 2.8772663e-06f);
  const float result = x * (w < 4.0f ? small : large);
  return magnitude < 1.0f ? result
                          : (magnitude == 1.0f ? v_copysign(v_infinity<float>(), x) : __builtin_nanf(""));
}
ETB_INLINE double v_erfinv(double x) { return special::erfinv(x); }

// ln x of a normal positive double, by the series of atanh. No operation of 64-bit integers that AVX2 lacks.
ETB_INLINE double v_log_of_normal(double x) {
  constexpr uint64_t kRootHalf = 0x3FE6A09E667F3BCD, kOne = 0x3FF0000000000000;
  const uint64_t bits = v_bits<uint64_t>(x);
  const uint64_t biased = (bits + (kOne - kRootHalf)) >> 52;  // the mantissa lands in [sqrt(1/2), sqrt(2))
  const double exponent = v_bits<double>(biased | 0x4330000000000000u) - (0x1.0p52 + 1023.0);
  const double m = v_bits<double>(bits - (biased << 52) + kOne);
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  const double series =
      v_polynomial(square, 0.66666666666666667, 0.4, 0.28571428571428571, 0.22222222222222222,
                   0.18181818181818182, 0.15384615384615385, 0.13333333333333333, 0.11764705882352941,
                   0.10526315789473684, 0.095238095238095238);
  return exponent * 0.69314718055994531 + (2.0 * s + s * square * series);
}

// |sin(pi x)|
ETB_INLINE double v_sin_pi_magnitude(double x) {
  constexpr double kShift = 0x1.8p52;
  const double r = x - ((x + kShift) - kShift), square = r * r;
  return v_abs(r * v_polynomial(square, 3.1415926535897932, -5.16771278004997, 2.5501640398773454,
                                -0.59926452932079208, 0.082145886611128229, -0.0073704309457143508,
                                0.00046630280576761256, -2.1915353447830216e-5, 7.9520540014755128e-7,
                                -2.2948428997269873e-8));
}

// ln |gamma(x)| in double. Stirling's series needs arguments from 8 on: gamma(a + 8) is gamma(a) times a (a + 1) ... (a + 7). For
// negative x, gamma(x) gamma(1 - x) sin(pi x) = pi. Near the zeros at 1 and 2 a polynomial keeps the digits.
ETB_INLINE float v_lgamma(float x) {
  const double v = x, a = v < 0.0 ? 1.0 - v : v;
  const bool is_small = a < 8.0;
  const double t = a * (a + 7.0), product = is_small ? t * (t + 6.0) * (t + 10.0) * (t + 12.0) : 1.0;
  const double z = is_small ? a + 8.0 : a, inverse = 1.0 / z;
  const double series = v_polynomial(inverse * inverse, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                                     1.0 / 1188, -691.0 / 360360);
  const double stirling = (z - 0.5) * v_log_of_normal(z) - z + 0.91893853320467274 + inverse * series;
  const double sine = v_sin_pi_magnitude(v);
  const double divided = v < 0.0 ? 3.1415926535897932 * product / sine : product;
  const double distance = stirling - v_log_of_normal(divided);
  const double near =
      (a - 1.0) * (a - 2.0) *
      v_polynomial(a - 1.5, 0.4831289505064258, -0.14595989589235726, 0.062911408923794385,
                   -0.031308492486671855, 0.016796808245643234, -0.0094254380092085691, 0.0054505154984374022,
                   -0.0032146511085077992, 0.0018953973686334324, -0.001146939450630969,
                   0.00081098863149705577, -0.00050114515507331317, 7.9114988779641581e-5,
                   -4.6937674550942233e-5, 0.00028223396495074683, -0.00017831269269577813);
  const double positive = a > 0.75 && a < 2.25 ? near : distance;
  const auto result = static_cast<float>(v < 0.0 ? -distance : positive);
  const bool is_pole = (v <= 0.0 && sine == 0.0) || v_abs(x) == v_infinity<float>();
  return x != x ? x : (is_pole ? v_infinity<float>() : result);
}
ETB_INLINE double v_lgamma(double x) { return special::lgamma(x); }

}  // namespace etb::host::ETB_VARIANT
