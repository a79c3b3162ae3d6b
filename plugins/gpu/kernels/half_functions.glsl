// SPDX-License-Identifier: Apache-2.0
// Functions of single elements in float16, four at once, for HALF_ARITHMETIC. Each result has the bits of the formula of
// functions.glsl, rounded to float16: float32 has more than twice the digits and two more, so rounding a sum or a product of two numbers of
// float16 twice is the same as rounding it once. plan/half_storage.hpp decides where they are called: with numbers of float16 as
// parameters, and 1 as alpha.
half4 with_signs(half4 magnitudes, half4 x) {
  return unpacked_halves((packed_halves(magnitudes) & 0x7fff7fffu) | (packed_halves(x) & 0x80008000u));
}

half4 half_unary_abs(half4 x, float p0, float p1) { return unpacked_halves(packed_halves(x) & 0x7fff7fffu); }
half4 half_unary_neg(half4 x, float p0, float p1) { return unpacked_halves(packed_halves(x) ^ 0x80008000u); }
half4 half_unary_ceil(half4 x, float p0, float p1) { return WHERE4(are_nan(x), x, with_signs(ceil(x), x)); }
half4 half_unary_floor(half4 x, float p0, float p1) { return WHERE4(are_nan(x), x, with_signs(floor(x), x)); }
half4 half_unary_round(half4 x, float p0, float p1) { return WHERE4(are_nan(x), x, with_signs(roundEven(x), x)); }
half4 half_unary_trunc(half4 x, float p0, float p1) { return WHERE4(are_nan(x), x, with_signs(trunc(x), x)); }
half4 half_unary_clamp(half4 x, float p0, float p1) {
  half4 low = HALF4(NARROW(p0)), high = HALF4(NARROW(p1));
  half4 raised = WHERE4(LESS4(x, low), low, x);
  return WHERE4(are_nan(x), x, WHERE4(GREATER4(raised, high), high, raised));
}

half4 half_binary_add(half4 x, half4 y, float p0) {
  precise half4 result = x + y;
  return result;
}
half4 half_binary_sub(half4 x, half4 y, float p0) {
  precise half4 result = x - y;
  return result;
}
half4 half_binary_mul(half4 x, half4 y, float p0) {
  precise half4 result = x * y;
  return result;
}
half4 half_binary_maximum(half4 x, half4 y, float p0) {
  return WHERE4(are_nan(x), x, WHERE4(GREATER4(x, y), x, y));
}
half4 half_binary_minimum(half4 x, half4 y, float p0) {
  return WHERE4(are_nan(x), x, WHERE4(LESS4(x, y), x, y));
}
half4 half_binary_equal(half4 x, half4 y, float p0) {
  return WHERE4(EQUAL4(x, y), HALF4(NARROW(1.0f)), HALF4(NARROW(0.0f)));
}
half4 half_binary_less(half4 x, half4 y, float p0) {
  return WHERE4(LESS4(x, y), HALF4(NARROW(1.0f)), HALF4(NARROW(0.0f)));
}
half4 half_binary_less_equal(half4 x, half4 y, float p0) {
  return WHERE4(LESS_EQUAL4(x, y), HALF4(NARROW(1.0f)), HALF4(NARROW(0.0f)));
}
