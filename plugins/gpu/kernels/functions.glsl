// SPDX-License-Identifier: Apache-2.0
// Functions of single elements. Vulkan's own exp, log and tanh may be wrong by many units in the last place, so these are
// the formulas of the portable kernels (host/kernels/vector/math.hpp). `precise` keeps the order of their operations, also
// those of one formula and the next in a chain; for OpenCL, contraction is off.
float unary_abs(float x, float p0, float p1) { return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu); }
float unary_neg(float x, float p0, float p1) { return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u); }

// Sets the sign of x, so that -0.3 rounds to -0.
float with_sign(float magnitude, float x) {
  return uintBitsToFloat((floatBitsToUint(magnitude) & 0x7fffffffu) | (floatBitsToUint(x) & 0x80000000u));
}
float unary_ceil(float x, float p0, float p1) { return is_nan(x) ? x : with_sign(ceil(x), x); }
float unary_floor(float x, float p0, float p1) { return is_nan(x) ? x : with_sign(floor(x), x); }
float unary_round(float x, float p0, float p1) { return is_nan(x) ? x : with_sign(roundEven(x), x); }
float unary_trunc(float x, float p0, float p1) { return is_nan(x) ? x : with_sign(trunc(x), x); }

float exponential(float x) {
  precise float clamped = x > 89.0f ? 89.0f : (x < -104.0f ? -104.0f : x);
  precise float n = roundEven(clamped * 1.44269504f);
  precise float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  precise float series = 0.0013951717f;
  series = series * r + 0.008369599f;
  series = series * r + 0.041666187f;
  series = series * r + 0.16666512f;
  series = series * r + 0.5f;
  precise float result = (series * r) * r + r + 1.0f;
  int exponent = int(n);
  int first = exponent >> 1, second = exponent - first;
  precise float scaled = result * intBitsToFloat((first + 127) << 23) * intBitsToFloat((second + 127) << 23);
  return is_nan(x) ? x : scaled;
}
float unary_exp(float x, float p0, float p1) { return exponential(x); }

float logarithm(float x) {
  bool is_small = x < 1.17549435e-38f;
  precise float scaled = is_small ? x * 33554432.0f : x;
  int bits = int(floatBitsToUint(scaled) - 0x3F3504F3u);
  precise float exponent = float(bits >> 23) - (is_small ? 25.0f : 0.0f);
  precise float f = intBitsToFloat((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
  precise float series = 0.06746601f;
  series = series * f + -0.11675641f;
  series = series * f + 0.11888175f;
  series = series * f + -0.124055915f;
  series = series * f + 0.14219551f;
  series = series * f + -0.16667996f;
  series = series * f + 0.20002119f;
  series = series * f + -0.2500001f;
  series = series * f + 0.33333313f;
  precise float tail = series * f * f * f + exponent * 1.42860677e-6f - 0.5f * f * f;
  precise float result = exponent * 0.693145752f + (f + tail);
  if (is_nan(x) || x < 0.0f) return NOT_A_NUMBER;
  return x == 0.0f ? -INFINITY : (x == INFINITY ? x : result);
}
float unary_log(float x, float p0, float p1) { return logarithm(x); }

float unary_sqrt(float x, float p0, float p1) { return is_nan(x) || x < 0.0f ? NOT_A_NUMBER : (x == 0.0f ? x : sqrt(x)); }
float unary_rsqrt(float x, float p0, float p1) {
  if (is_nan(x) || x < 0.0f) return NOT_A_NUMBER;
  precise float result = 1.0f / sqrt(x);
  return x == 0.0f ? with_sign(INFINITY, x) : result;
}
float unary_reciprocal(float x, float p0, float p1) {
  precise float result = 1.0f / x;
  return result;
}

// 1 - e / (1 + e) has smaller roundings than 1 / (1 + e).
float sigmoid(float x) {
  precise float e = exponential(-abs(x));
  precise float below = e / (1.0f + e);
  precise float above = 1.0f - below;
  return is_nan(x) ? x : (x < 0.0f ? below : above);
}
float unary_sigmoid(float x, float p0, float p1) { return sigmoid(x); }

float hyperbolic_tangent(float x) {
  precise float magnitude = abs(x), square = x * x;
  precise float series = -0.005717037f;
  series = series * square + 0.020650579f;
  series = series * square + -0.053743497f;
  series = series * square + 0.13331491f;
  series = series * square + -0.33333284f;
  precise float small = series * square * x + x;
  precise float large = 1.0f - 2.0f / (exponential(2.0f * magnitude) + 1.0f);
  return is_nan(x) ? x : (magnitude < 0.625f ? small : with_sign(large, x));
}
float unary_tanh(float x, float p0, float p1) { return hyperbolic_tangent(x); }

float error_function(float x) {
  precise float magnitude = abs(x), square = x * x;
  precise float small = 8.345225e-05f;
  small = small * square + -0.00081374374f;
  small = small * square + 0.0052006342f;
  small = small * square + -0.02685927f;
  small = small * square + 0.11283694f;
  small = small * square + -0.37612635f;
  small = small * square + 0.12837917f;
  small = small * x + x;
  precise float t = magnitude > 4.0f ? 4.0f : magnitude;
  precise float large = -2.2590384e-06f;
  large = large * t + 3.606612e-05f;
  large = large * t + -0.0002288214f;
  large = large * t + 0.000552462f;
  large = large * t + 0.0017221626f;
  large = large * t + -0.021157652f;
  large = large * t + 0.10409879f;
  large = large * t + 0.63612497f;
  large = large * t + 0.1284598f;
  precise float far = 1.0f - exponential(-(large * t + t));
  return is_nan(x) ? x : (magnitude < 0.92f ? small : with_sign(far, x));
}
float unary_erf(float x, float p0, float p1) { return error_function(x); }

// The sine of x plus `quarters` right angles. Right angles are subtracted in parts of 8 bits, whose products with up to 16 bits
// are exact: beyond |x| = 100,000 the result loses digits.
float sine(float x, int quarters) {
  precise float n = roundEven(x * 0.636619772f);
  precise float r = ((x - n * 1.5703125f) - n * 0.000482559204f) - n * 1.2665987e-6f;
  r = r - n * 9.920936e-10f;
  precise float z = r * r;
  precise float odd = -0.00019508773f;
  odd = odd * z + 0.008332114f;
  odd = odd * z + -0.16666654f;
  odd = odd * z * r + r;
  precise float even = 2.4431241e-5f;
  even = even * z + -0.0013887306f;
  even = even * z + 0.041666646f;
  even = even * z * z + (1.0f - 0.5f * z);
  int turn = (int(n) + quarters) & 3;
  float magnitude = (turn & 1) != 0 ? even : odd;
  float result = (turn & 2) != 0 ? -magnitude : magnitude;
  return is_nan(x) || abs(x) == INFINITY ? NOT_A_NUMBER : (n == 0.0f && quarters == 0 && x == 0.0f ? x : result);
}
float unary_sin(float x, float p0, float p1) { return sine(x, 0); }
float unary_cos(float x, float p0, float p1) { return sine(x, 1); }

float unary_gelu(float x, float p0, float p1) {
  precise float y = 0.5f * x * (1.0f + error_function(x * 0.707106769f));
  return x == -INFINITY ? NOT_A_NUMBER : y;
}
float unary_gelu_tanh(float x, float p0, float p1) {
  precise float inner = 0.797884583f * (x + 0.044715f * x * x * x);
  precise float y = 0.5f * x * (1.0f + hyperbolic_tangent(inner));
  return x == -INFINITY ? NOT_A_NUMBER : y;
}

float unary_clamp(float x, float p0, float p1) { return is_nan(p0) || is_nan(p1) ? NOT_A_NUMBER : limited(x, p0, p1); }
float unary_leaky_relu(float x, float p0, float p1) {
  precise float scaled = x * p0;
  return x > 0.0f ? x : scaled;
}

float unary_round_half(float x, float p0, float p1) { return nearest_half(x); }

float binary_add(float x, float y, float p0) {
  precise float result = x + p0 * y;
  return result;
}
float binary_sub(float x, float y, float p0) {
  precise float result = x - p0 * y;
  return result;
}
float binary_mul(float x, float y, float p0) {
  precise float result = x * y;
  return result;
}
float binary_div(float x, float y, float p0) {
  precise float result = x / y;
  return result;
}
float binary_maximum(float x, float y, float p0) { return is_nan(x) || x > y ? x : y; }
float binary_minimum(float x, float y, float p0) { return is_nan(x) || x < y ? x : y; }
float binary_equal(float x, float y, float p0) { return x == y ? 1.0f : 0.0f; }
float binary_less(float x, float y, float p0) { return x < y ? 1.0f : 0.0f; }
float binary_less_equal(float x, float y, float p0) { return x <= y ? 1.0f : 0.0f; }

#ifdef HALF_ARITHMETIC
#include "half_functions.glsl"
#endif
