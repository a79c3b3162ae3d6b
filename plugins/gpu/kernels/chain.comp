// SPDX-License-Identifier: Apache-2.0
// A chain: up to eight functions of single elements in one pass. The steps are constants of the pipeline (plan/chains.hpp), and
// the functions that they call are linked when it is made. Operands that no step has are not read. BROADCAST=0: operands of the
// result's sizes; 1: operands that lack dimensions, up to four elements of the last one by each invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "kernel.glsl"
#include "functions.glsl"

// A step of code 0 does not exist. Bits 8 to 11 and 12 to 15: indices of its operands in `slots`. Bit 16: its result is rounded to
// float16, as it would be in memory. Bit 17: it is computed in float16.
SPECIALIZED(1, STEP_0)
SPECIALIZED(2, STEP_1)
SPECIALIZED(3, STEP_2)
SPECIALIZED(4, STEP_3)
SPECIALIZED(5, STEP_4)
SPECIALIZED(6, STEP_5)
SPECIALIZED(7, STEP_6)
SPECIALIZED(8, STEP_7)

// All functions, of which each step calls one.
#define UNARY_IN_HALF_0(code, formula)
#define BINARY_IN_HALF_0(code, formula)
#ifdef HALF_ARITHMETIC
#define UNARY_IN_HALF_1(code, formula) \
  half4 half_unary_step_##code(half4 x, half4 y, float p0, float p1) { return half_##formula(x, p0, p1); }
#define BINARY_IN_HALF_1(code, formula) \
  half4 half_binary_step_##code(half4 x, half4 y, float p0, float p1) { return half_##formula(x, y, p0); }
#else
#define UNARY_IN_HALF_1(code, formula)
#define BINARY_IN_HALF_1(code, formula)
#endif
#define ETB_GPU_UNARY(name, code, formula, parameters, halves)                                                \
  float unary_step_##code(float x, float y, float p0, float p1) { return formula(x, p0, p1); }                \
  UNARY_IN_HALF_##halves(code, formula)
#define ETB_GPU_BINARY(name, code, formula, halves)                                                           \
  float binary_step_##code(float x, float y, float p0, float p1) { return formula(x, y, p0); }                \
  BINARY_IN_HALF_##halves(code, formula)
#include "functions.def"
LINKED(function_0)
LINKED(function_1)
LINKED(function_2)
LINKED(function_3)
LINKED(function_4)
LINKED(function_5)
LINKED(function_6)
LINKED(function_7)
#ifdef HALF_ARITHMETIC
LINKED_HALF(half_function_0)
LINKED_HALF(half_function_1)
LINKED_HALF(half_function_2)
LINKED_HALF(half_function_3)
LINKED_HALF(half_function_4)
LINKED_HALF(half_function_5)
LINKED_HALF(half_function_6)
LINKED_HALF(half_function_7)
#endif

// Slots 0 to 4 are the operands, 5 to 12 the results of the steps; 15 is the second number of the step.
#ifdef HALF_ARITHMETIC
// Four elements at once. Each slot has them in both widths, of which compilers drop the one that no step reads.
#define STEP(n, step, function)                                                                             \
  if (step != 0u) {                                                                                         \
    float p0 = push.numbers[2 * n], p1 = push.numbers[2 * n + 1];                                           \
    slots[15] = VEC4(p1);                                                                                   \
    halves[15] = HALF4(NARROW(p1));                                                                         \
    if ((step >> 17 & 1u) != 0u) {                                                                          \
      rounded = half_##function(halves[step >> 8 & 15u], halves[step >> 12 & 15u], p0, p1);                 \
      last = WIDE4(rounded);                                                                                \
    } else {                                                                                                \
      vec4 v = slots[step >> 8 & 15u], w = slots[step >> 12 & 15u];                                         \
      last = VEC4(function(v.x, w.x, p0, p1), function(v.y, w.y, p0, p1), function(v.z, w.z, p0, p1),       \
                  function(v.w, w.w, p0, p1));                                                              \
      if ((step >> 16 & 1u) != 0u) last = nearest_halves(last);                                             \
      rounded = NARROW4(last);                                                                              \
    }                                                                                                       \
    slots[5 + n] = last;                                                                                    \
    halves[5 + n] = rounded;                                                                                \
  }
#define BEGIN_SLOTS                                  \
  vec4 slots[16], last = VEC4(0.0f);                  \
  half4 halves[16], rounded = HALF4(NARROW(0.0f));
#else
#define STEP(n, step, function)                                                                             \
  if (step != 0u) {                                                                                         \
    slots[15] = push.numbers[2 * n + 1];                                                                    \
    last = function(slots[step >> 8 & 15u], slots[step >> 12 & 15u], push.numbers[2 * n], slots[15]);       \
    if ((step >> 16 & 1u) != 0u) last = nearest_half(last);                                                 \
    slots[5 + n] = last;                                                                                    \
  }
#endif
#define STEPS                                                          \
  STEP(0, STEP_0, function_0) STEP(1, STEP_1, function_1)              \
  STEP(2, STEP_2, function_2) STEP(3, STEP_3, function_3)              \
  STEP(4, STEP_4, function_4) STEP(5, STEP_5, function_5)              \
  STEP(6, STEP_6, function_6) STEP(7, STEP_7, function_7)

#if BROADCAST
#define TYPE float
#else
#define TYPE vec4
#endif
#define EACH_OPERAND(X) X(0, a) X(1, b) X(2, c) X(3, d) X(4, e)
#define CHAIN_KERNEL \
  KERNEL6(READS, TYPE, a, READS, TYPE, b, READS, TYPE, c, READS, TYPE, d, READS, TYPE, e, WRITES, TYPE, y)

#if BROADCAST
BEGIN_PUSH
  uint count;  // invocations
  uint rank;
  uint masks;         // six bits for each operand: the dimensions that it has
  uint sizes[6];      // sizes of `rank` dimensions, the last one first
  float numbers[16];  // two for each step
END_PUSH

// An operand is dense, so its stride in a dimension is the number of elements in those before that it has.
#define BEGIN_OPERAND(k, name)                                  \
  uint step##k = push.masks >> (6 * k) & 1u;                    \
  uint index##k = first * step##k;                              \
  uint stride##k = step##k != 0u ? push.sizes[0] : 1u;
#define ADD_DIMENSION(k, name)                                  \
  if ((push.masks >> (6 * k) >> dim & 1u) != 0u) {              \
    index##k += position * stride##k;                           \
    stride##k *= push.sizes[dim];                               \
  }
#ifdef HALF_ARITHMETIC
#define READ_ELEMENT(k, name)                                                          \
  if (n < end) {                                                                       \
    if (IS_HALF(name)) { HALF_ELEMENT(halves[k], n) = RAW_HALF(name, index##k); }      \
    else { ELEMENT(slots[k], n) = name[index##k]; }                                    \
  }                                                                                    \
  index##k += step##k;
#define END_READ(k, name) \
  if (IS_HALF(name)) { slots[k] = WIDE4(halves[k]); } else { halves[k] = NARROW4(slots[k]); }
#else
#define READ_ELEMENT(k, name)    \
  slots[k] = LOAD(name, index##k); \
  index##k += step##k;
#endif

CHAIN_KERNEL {
  uint index = linear_index();
  if (index >= push.count) return;
  uint groups = (push.sizes[0] + 3) / 4;
  uint rest = index / groups;
  uint first = (index - rest * groups) * 4;
  uint at = rest * push.sizes[0] + first;
  EACH_OPERAND(BEGIN_OPERAND)
  ROLLED for (uint dim = 1; dim < push.rank; ++dim) {
    uint above = rest / push.sizes[dim];
    uint position = rest - above * push.sizes[dim];
    EACH_OPERAND(ADD_DIMENSION)
    rest = above;
  }
  uint end = min(4u, push.sizes[0] - first);
#ifdef HALF_ARITHMETIC
  BEGIN_SLOTS
  UNROLL for (uint n = 0; n < 4; ++n) { EACH_OPERAND(READ_ELEMENT) }
  EACH_OPERAND(END_READ)
  STEPS
  UNROLL for (uint n = 0; n < 4; ++n) {
    if (n < end) {
      if (IS_HALF(y)) { WRITE_RAW(y, at + n, HALF_ELEMENT(rounded, n)) } else { y[at + n] = ELEMENT(last, n); }
    }
  }
#else
  for (uint n = 0; n < end; ++n) {
    float slots[16];
    float last = 0.0f;
    EACH_OPERAND(READ_ELEMENT)
    STEPS
    STORE(y, at + n, last)
  }
#endif
}
#else
BEGIN_PUSH
  uint count;         // groups of four elements; buffers are padded to 16 bytes
  float numbers[16];  // two for each step
END_PUSH

#ifdef HALF_ARITHMETIC
#define READ_GROUP(k, name)                                                                            \
  if (IS_HALF(name)) { halves[k] = RAW_HALVES(name, i); slots[k] = WIDE4(halves[k]); }                 \
  else { slots[k] = name[i]; halves[k] = NARROW4(slots[k]); }
#else
#define READ_GROUP(k, name) vec4 group##k = LOAD4(name, i);
#define READ_ELEMENT(k, name) slots[k] = ELEMENT(group##k, n);
#endif

CHAIN_KERNEL {
  uint i = linear_index();
  if (i >= push.count) return;
#ifdef HALF_ARITHMETIC
  BEGIN_SLOTS
  EACH_OPERAND(READ_GROUP)
  STEPS
  if (IS_HALF(y)) { WRITE_RAW4(y, i, rounded) } else { y[i] = last; }
#else
  EACH_OPERAND(READ_GROUP)
  vec4 result = VEC4(0.0f);
  UNROLL for (uint n = 0; n < 4; ++n) {
    float slots[16];
    float last = 0.0f;
    EACH_OPERAND(READ_ELEMENT)
    STEPS
    ELEMENT(result, n) = last;
  }
  STORE4(y, i, result)
#endif
}
#endif
