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
  precise float clamped = x > 89.0 ? 89.0 : (x < -104.0 ? -104.0 : x);
  precise float n = roundEven(clamped * 1.44269504);
  precise float r = (clamped - n * 0.693145752) - n * 1.42860677e-6;
  precise float series = 0.0013951717;
  series = series * r + 0.008369599;
  series = series * r + 0.041666187;
  series = series * r + 0.16666512;
  series = series * r + 0.5;
  precise float result = (series * r) * r + r + 1.0;
  int exponent = int(n);
  int first = exponent >> 1, second = exponent - first;
  precise float scaled = result * intBitsToFloat((first + 127) << 23) * intBitsToFloat((second + 127) << 23);
  return is_nan(x) ? x : scaled;
}
float unary_exp(float x, float p0, float p1) { return exponential(x); }

float logarithm(float x) {
  bool is_small = x < 1.17549435e-38;
  precise float scaled = is_small ? x * 33554432.0 : x;
  int bits = int(floatBitsToUint(scaled) - 0x3F3504F3u);
  precise float exponent = float(bits >> 23) - (is_small ? 25.0 : 0.0);
  precise float f = intBitsToFloat((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0;
  precise float series = 0.06746601;
  series = series * f + -0.11675641;
  series = series * f + 0.11888175;
  series = series * f + -0.124055915;
  series = series * f + 0.14219551;
  series = series * f + -0.16667996;
  series = series * f + 0.20002119;
  series = series * f + -0.2500001;
  series = series * f + 0.33333313;
  precise float tail = series * f * f * f + exponent * 1.42860677e-6 - 0.5 * f * f;
  precise float result = exponent * 0.693145752 + (f + tail);
  if (is_nan(x) || x < 0.0) return NOT_A_NUMBER;
  return x == 0.0 ? -INFINITY : (x == INFINITY ? x : result);
}
float unary_log(float x, float p0, float p1) { return logarithm(x); }

float unary_sqrt(float x, float p0, float p1) { return is_nan(x) || x < 0.0 ? NOT_A_NUMBER : (x == 0.0 ? x : sqrt(x)); }
float unary_rsqrt(float x, float p0, float p1) {
  if (is_nan(x) || x < 0.0) return NOT_A_NUMBER;
  precise float result = 1.0 / sqrt(x);
  return x == 0.0 ? with_sign(INFINITY, x) : result;
}
float unary_reciprocal(float x, float p0, float p1) {
  precise float result = 1.0 / x;
  return result;
}

// 1 - e / (1 + e) has smaller roundings than 1 / (1 + e).
float sigmoid(float x) {
  precise float e = exponential(-abs(x));
  precise float below = e / (1.0 + e);
  precise float above = 1.0 - below;
  return is_nan(x) ? x : (x < 0.0 ? below : above);
}
float unary_sigmoid(float x, float p0, float p1) { return sigmoid(x); }

float hyperbolic_tangent(float x) {
  precise float magnitude = abs(x), square = x * x;
  precise float series = -0.005717037;
  series = series * square + 0.020650579;
  series = series * square + -0.053743497;
  series = series * square + 0.13331491;
  series = series * square + -0.33333284;
  precise float small = series * square * x + x;
  precise float large = 1.0 - 2.0 / (exponential(2.0 * magnitude) + 1.0);
  return is_nan(x) ? x : (magnitude < 0.625 ? small : with_sign(large, x));
}
float unary_tanh(float x, float p0, float p1) { return hyperbolic_tangent(x); }

float error_function(float x) {
  precise float magnitude = abs(x), square = x * x;
  precise float small = 8.345225e-05;
  small = small * square + -0.00081374374;
  small = small * square + 0.0052006342;
  small = small * square + -0.02685927;
  small = small * square + 0.11283694;
  small = small * square + -0.37612635;
  small = small * square + 0.12837917;
  small = small * x + x;
  precise float t = magnitude > 4.0 ? 4.0 : magnitude;
  precise float large = -2.2590384e-06;
  large = large * t + 3.606612e-05;
  large = large * t + -0.0002288214;
  large = large * t + 0.000552462;
  large = large * t + 0.0017221626;
  large = large * t + -0.021157652;
  large = large * t + 0.10409879;
  large = large * t + 0.63612497;
  large = large * t + 0.1284598;
  precise float far = 1.0 - exponential(-(large * t + t));
  return is_nan(x) ? x : (magnitude < 0.92 ? small : with_sign(far, x));
}
float unary_erf(float x, float p0, float p1) { return error_function(x); }

// The sine of x plus `quarters` right angles. Right angles are subtracted in parts of 8 bits, whose products with up to 16 bits
// are exact: beyond |x| = 100,000 the result loses digits.
float sine(float x, int quarters) {
  precise float n = roundEven(x * 0.636619772);
  precise float r = ((x - n * 1.5703125) - n * 0.000482559204) - n * 1.2665987e-6;
  r = r - n * 9.920936e-10;
  precise float z = r * r;
  precise float odd = -0.00019508773;
  odd = odd * z + 0.008332114;
  odd = odd * z + -0.16666654;
  odd = odd * z * r + r;
  precise float even = 2.4431241e-5;
  even = even * z + -0.0013887306;
  even = even * z + 0.041666646;
  even = even * z * z + (1.0 - 0.5 * z);
  int turn = (int(n) + quarters) & 3;
  float magnitude = (turn & 1) != 0 ? even : odd;
  float result = (turn & 2) != 0 ? -magnitude : magnitude;
  return is_nan(x) || abs(x) == INFINITY ? NOT_A_NUMBER : (n == 0.0 && quarters == 0 && x == 0.0 ? x : result);
}
float unary_sin(float x, float p0, float p1) { return sine(x, 0); }
float unary_cos(float x, float p0, float p1) { return sine(x, 1); }

float unary_gelu(float x, float p0, float p1) {
  precise float y = 0.5 * x * (1.0 + error_function(x * 0.707106769));
  return x == -INFINITY ? NOT_A_NUMBER : y;
}
float unary_gelu_tanh(float x, float p0, float p1) {
  precise float inner = 0.797884583 * (x + 0.044715 * x * x * x);
  precise float y = 0.5 * x * (1.0 + hyperbolic_tangent(inner));
  return x == -INFINITY ? NOT_A_NUMBER : y;
}

float unary_clamp(float x, float p0, float p1) { return is_nan(p0) || is_nan(p1) ? NOT_A_NUMBER : limited(x, p0, p1); }
float unary_leaky_relu(float x, float p0, float p1) {
  precise float scaled = x * p0;
  return x > 0.0 ? x : scaled;
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
float binary_equal(float x, float y, float p0) { return x == y ? 1.0 : 0.0; }
float binary_less(float x, float y, float p0) { return x < y ? 1.0 : 0.0; }
float binary_less_equal(float x, float y, float p0) { return x <= y ? 1.0 : 0.0; }

#ifdef HALF_ARITHMETIC
#include "half_functions.glsl"
#endif
