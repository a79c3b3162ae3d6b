// SPDX-License-Identifier: Apache-2.0
// What all kernels share, in the language of kernel.glsl and kernel.cl.

// Tests the bits: compilers may assume that x == x.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// NaN stays NaN; high wins where low > high.
float limited(float x, float low, float high) {
  float raised = x < low ? low : x;
  return is_nan(x) ? x : (raised > high ? high : raised);
}

vec4 limited4(vec4 x, float low, float high) {
  return VEC4(limited(x.x, low, high), limited(x.y, low, high), limited(x.z, low, high), limited(x.w, low, high));
}

// The number of float16 that is nearest to x; of two, the even one. By the bits on every device: Mesa 25 takes a conversion to float16
// and back for none.
// Each case is computed and one chosen: SwiftShader compiles kernels with many branches for minutes.
float nearest_half(float x) {
  uint bits = floatBitsToUint(x), magnitude = bits & 0x7fffffffu;
  float steps = roundEven(uintBitsToFloat(magnitude) * 16777216.0f);
  uint subnormal = floatBitsToUint(steps * 5.9604644775390625e-8f);  // below 2^-14
  uint rounded = (magnitude + 0xfffu + (magnitude >> 13 & 1u)) & 0xffffe000u;
  uint infinite = 0x7f800000u;
  uint normal = rounded > 0x477fe000u ? infinite : rounded;
  uint number = (magnitude < 0x38800000u ? subnormal : normal) | (bits & 0x80000000u);
  return uintBitsToFloat(magnitude > 0x7f800000u ? bits : number);
}
vec4 nearest_halves(vec4 x) {
  return VEC4(nearest_half(x.x), nearest_half(x.y), nearest_half(x.z), nearest_half(x.w));
}

// Its 16 bits. NaN stays NaN.
uint half_bits(float x) {
  uint bits = floatBitsToUint(nearest_half(x)), magnitude = bits & 0x7fffffffu, fraction = magnitude >> 13 & 0x3ffu;
  uint subnormal = uint(min(uintBitsToFloat(magnitude), 1.0f) * 16777216.0f);
  uint normal = (magnitude - 0x38000000u) >> 13;
  uint nan = 0x7e00u | fraction, infinite = 0x7c00u;
  uint special = magnitude > 0x7f800000u ? nan : infinite;
  uint finite = magnitude < 0x38800000u ? subnormal : normal;
  return (magnitude < 0x7f800000u ? finite : special) | (bits >> 16 & 0x8000u);
}
uvec4 half_bits4(vec4 x) { return UVEC4(half_bits(x.x), half_bits(x.y), half_bits(x.z), half_bits(x.w)); }

// Elements of buffers, of 32 or 16 bits (kernel.glsl); LOAD4 and STORE4: four of them, LOAD_BITS: of a buffer of
// integers. AS_STORED: a result as it would be in memory.
#ifdef HALF_STORAGE
#define LOAD(name, i) (IS_HALF(name) ? READ_HALF(name, i) : name[i])
#define LOAD4(name, i) (IS_HALF(name) ? READ_HALVES(name, i) : name[i])
#define LOAD_BITS(name, i) (IS_HALF(name) ? floatBitsToUint(READ_HALF(name, i)) : name[i])
#define LOAD_BITS4(name, i) (IS_HALF(name) ? FLOAT_BITS(READ_HALVES(name, i)) : name[i])
#define STORE(name, i, number) \
  { if (IS_HALF(name)) { WRITE_HALF(name, i, number) } else { name[i] = number; } }
#define STORE4(name, i, numbers) \
  { if (IS_HALF(name)) { WRITE_HALVES(name, i, numbers) } else { name[i] = numbers; } }
#define STORE_BITS(name, i, bits) \
  { if (IS_HALF(name)) { WRITE_HALF(name, i, uintBitsToFloat(bits)) } else { name[i] = bits; } }
#define STORE_BITS4(name, i, bits) \
  { if (IS_HALF(name)) { WRITE_HALVES(name, i, BITS_FLOAT(bits)) } else { name[i] = bits; } }
#define AS_STORED(name, number) (IS_HALF(name) ? nearest_half(number) : number)
#define AS_STORED4(name, numbers) (IS_HALF(name) ? nearest_halves(numbers) : numbers)
#else
#define IS_HALF(name) false
#define LOAD(name, i) name[i]
#define LOAD4(name, i) name[i]
#define LOAD_BITS(name, i) name[i]
#define LOAD_BITS4(name, i) name[i]
#define STORE(name, i, number) name[i] = number;
#define STORE4(name, i, numbers) name[i] = numbers;
#define STORE_BITS(name, i, bits) name[i] = bits;
#define STORE_BITS4(name, i, bits) name[i] = bits;
#define AS_STORED(name, number) number
#define AS_STORED4(name, numbers) numbers
#endif
// Stores an element of a buffer of integers in another one. Numbers of float16 of the device are not converted, which could flush
// subnormal ones.
#ifdef HALF_ARITHMETIC
#define MOVE(y, j, x, i) \
  { if (IS_HALF(x) && IS_HALF(y)) { WRITE_RAW(y, j, RAW_HALF(x, i)) } else { STORE_BITS(y, j, LOAD_BITS(x, i)) } }
#else
#define MOVE(y, j, x, i) STORE_BITS(y, j, LOAD_BITS(x, i))
#endif
#ifdef HALF_ARITHMETIC
// Elements of buffers as numbers of float16, and results; IN_HALF: the plan has the function of the kernel in float16.
#define IN_HALF ((HALVES >> 9 & 1u) != 0u)
#define LOAD_HALF(name, i) (IS_HALF(name) ? RAW_HALF(name, i) : NARROW(name[i]))
#define LOAD_HALVES(name, i) (IS_HALF(name) ? RAW_HALVES(name, i) : NARROW4(name[i]))
#define STORE_HALF(name, i, number) \
  { if (IS_HALF(name)) { WRITE_RAW(name, i, number) } else { name[i] = float(number); } }
#define STORE_HALVES(name, i, numbers) \
  { if (IS_HALF(name)) { WRITE_RAW4(name, i, numbers) } else { name[i] = WIDE4(numbers); } }
#endif
#define GATHER4(name, at) VEC4(LOAD(name, (at).x), LOAD(name, (at).y), LOAD(name, (at).z), LOAD(name, (at).w))

// Last step of products and convolutions: they add a tensor of the result's sizes, within other limits. The buffer `residual` is any
// without one.
#define RESIDUAL_PUSH uint has_residual; float sum_low, sum_high;
#define ADD_RESIDUAL(result, number) \
  if (HAS_RESIDUAL != 0u) result = limited(AS_STORED(y, result) + (number), push.sum_low, push.sum_high);
#define ADD_RESIDUAL4(result, numbers) \
  if (HAS_RESIDUAL != 0u) result = limited4(AS_STORED4(y, result) + (numbers), push.sum_low, push.sum_high);

// x / count, rounded nearly as well as possible. GPUs may be 2.5 units off, all results in the same direction; means of large
// numbers would show it.
float divided(float x, float count) {
  float quotient = x / count;
  float rest = fma(-quotient, count, x);
  return abs(quotient) < INFINITY ? quotient + rest / count : quotient;
}

// Four codes of eight bits of a word, or of four bits of its lower half. They are stored without a sign (plan/codes.hpp).
vec4 codes8(uint word) {
  return VEC4(float(word & 255u), float(word >> 8 & 255u), float(word >> 16 & 255u), float(word >> 24)) - 128.0f;
}
vec4 codes4(uint word) {
  return VEC4(float(word & 15u), float(word >> 4 & 15u), float(word >> 8 & 15u), float(word >> 12 & 15u)) - 8.0f;
}

// The number of float16 in the lower half of a word. By its bits: unpackHalf2x16 may read subnormal numbers as 0, and not every
// compiler of OpenCL C has vload_half.
float half_number(uint word) {
  uint exponent = word & 0x7c00u;
  uint bits = ((word & 0x7fffu) << 13) + (exponent == 0x7c00u ? 0x70000000u : 0x38000000u);
  float small = float(word & 1023u) * 5.9604644775390625e-8f, normal = uintBitsToFloat(bits);
  float number = exponent == 0u ? small : normal;
  return uintBitsToFloat(floatBitsToUint(number) | (word & 0x8000u) << 16);
}
vec4 halves4(uint first, uint second) {
#ifdef HALF_ARITHMETIC
  return WIDE4(unpacked_halves(UVEC2(first, second)));
#else
  return VEC4(half_number(first), half_number(first >> 16), half_number(second), half_number(second >> 16));
#endif
}

vec4 half_numbers(uvec4 words) {
  return VEC4(half_number(words.x), half_number(words.y), half_number(words.z), half_number(words.w));
}

// Four columns of row k of packed numbers. `at`: their index among the fours of a row; `stride`: fours of a row.
#define HALF_ROW(b, at, k, stride) halves4(b[((at) + (k) * (stride)) * 2], b[((at) + (k) * (stride)) * 2 + 1])
#define CODE8_ROW(b, at, k, stride) codes8(b[(at) + (k) * (stride)])
#define CODE4_ROW(b, at, k, stride) codes4(b[(at) + (k) / 2 * (stride)] >> ((k) % 2 * 16))

// Lavapipe of Mesa 22.3 ends all loops of an invocation after 65,535 turns together, without a word. So loops over elements
// handle four in each turn, and plan/dispatch.hpp counts the turns.
// `n` counts by constants, or drivers would not unroll.
#define FOUR_EACH(first, count) for (uint first = 0; first < (count); first += 4)
#define EACH_OF_FOUR(i, first, count) \
  UNROLL for (uint n = 0, i = first; n < 4; ++n, ++i) if (i < (count))
