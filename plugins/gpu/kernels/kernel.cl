// SPDX-License-Identifier: Apache-2.0
// Beginning of every kernel for OpenCL: the words of kernel.glsl in OpenCL C 1.2. Numbers end in f, because not every
// compiler heeds -cl-single-precision-constant. The build appends numbers.glsl and, where a kernel includes them, functions.glsl and
// half_functions.glsl.
#ifdef HALF_ARITHMETIC
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#define NOT_A_NUMBER as_float(0x7fc00000u)
#define UNROLL _Pragma("unroll")
#define ROLLED
#define ELEMENT(vector, i) (((float*)&(vector))[i])

#define SPECIALIZED(index, name)
#define HAS_RESIDUAL push.has_residual  // one program for both
#define LINKED(name)
#define LINKED_HALF(name)
#define SHARED_OUTSIDE(type, name, count)
#define SHARED_INSIDE(type, name, count) __local type name[count];
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)

#define LOCAL_X ((uint)get_local_id(0))
#define GROUP_X ((uint)get_group_id(0))
#define GLOBAL_X ((uint)get_global_id(0))
#define GROUP_Y ((uint)get_group_id(1))
#define GROUP_Z ((uint)get_group_id(2))

typedef int4 ivec4;
typedef uint4 uvec4;
typedef float4 vec4;
#define IVEC4 (int4)  // no macros of variable length: NVIDIA's compiler rejects them
#define UVEC2 (uint2)
#define UVEC4 (uint4)
#define VEC4 (float4)
#define int(x) ((int)(x))
#define uint(x) ((uint)(x))
#define float(x) ((float)(x))
#define floatBitsToUint as_uint
#define intBitsToFloat as_float
#define uintBitsToFloat as_float
#define roundEven rint
#undef abs
#define abs fabs
#define precise  // functions.glsl is compiled without contraction

#define BEGIN_PUSH typedef struct {
#define END_PUSH } Push;

#define READS __global const
#define WRITES __global
#define UPDATES __global
// As in kernel.glsl: bit k is set if buffer k has numbers of float16. Its type is a pointer to 32 bits nevertheless.
#ifdef HALVES
#define HALF_STORAGE
#define BUFFER(index, name) enum { name##_is_half = HALVES >> index & 1 };
#define IS_HALF(name) name##_is_half
#ifdef HALF_ARITHMETIC
#define HALF4 (half4)
#define NARROW(x) convert_half_rte(x)
#define NARROW4(x) convert_half4_rte(x)
#define WIDE4(x) convert_float4(x)
#define HALF_ELEMENT(vector, i) (((half*)&(vector))[i])
#define RAW_HALF(name, i) ((__global const half*)name)[i]
#define RAW_HALVES(name, i) ((__global const half4*)name)[i]
#define WRITE_RAW(name, i, number) ((__global half*)name)[i] = number;
#define WRITE_RAW4(name, i, numbers) ((__global half4*)name)[i] = numbers;
#define READ_HALF(name, i) convert_float(RAW_HALF(name, i))
#define READ_HALVES(name, i) convert_float4(RAW_HALVES(name, i))
#define WRITE_HALF(name, i, number) WRITE_RAW(name, i, NARROW(number))
#define WRITE_HALVES(name, i, numbers) WRITE_RAW4(name, i, NARROW4(numbers))
#define GREATER4(x, y) ((x) > (y))
#define LESS4(x, y) ((x) < (y))
#define EQUAL4(x, y) ((x) == (y))
#define LESS_EQUAL4(x, y) ((x) <= (y))
#define WHERE4(mask, yes, no) select(no, yes, mask)
uint2 packed_halves(half4 x) { return as_uint2(x); }
half4 unpacked_halves(uint2 words) { return as_half4(words); }
short4 are_nan(half4 x) { return (as_short4(x) & (short4)(0x7fff)) > (short4)(0x7c00); }
#else
#define READ_HALF(name, i) half_number(((__global const ushort*)name)[i])
#define READ_HALVES(name, i) half_numbers(convert_uint4(((__global const ushort4*)name)[i]))
#define WRITE_HALF(name, i, number) ((__global ushort*)name)[i] = (ushort)half_bits(number);
#define WRITE_HALVES(name, i, numbers) ((__global ushort4*)name)[i] = convert_ushort4(half_bits4(numbers));
#endif
#else
#define BUFFER(index, name)
#endif
#define FLOAT_BITS as_uint4
#define BITS_FLOAT as_float4
#define BUFFERS2(a0, t0, n0, a1, t1, n1) a0 t0 *restrict n0, a1 t1 *restrict n1
#define BUFFERS3(a0, t0, n0, a1, t1, n1, a2, t2, n2) BUFFERS2(a0, t0, n0, a1, t1, n1), a2 t2 *restrict n2
#define BUFFERS4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3) \
  BUFFERS2(a0, t0, n0, a1, t1, n1), BUFFERS2(a2, t2, n2, a3, t3, n3)
#define KERNEL2(a0, t0, n0, a1, t1, n1) \
  BUFFER(0, n0) BUFFER(1, n1)           \
  __kernel void KERNEL_NAME(BUFFERS2(a0, t0, n0, a1, t1, n1), const Push push)
#define KERNEL3(a0, t0, n0, a1, t1, n1, a2, t2, n2) \
  BUFFER(0, n0) BUFFER(1, n1) BUFFER(2, n2)         \
  __kernel void KERNEL_NAME(BUFFERS3(a0, t0, n0, a1, t1, n1, a2, t2, n2), const Push push)
#define KERNEL4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3) \
  BUFFER(0, n0) BUFFER(1, n1) BUFFER(2, n2) BUFFER(3, n3)       \
  __kernel void KERNEL_NAME(BUFFERS4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3), const Push push)
#define KERNEL5(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3, a4, t4, n4)                                      \
  BUFFER(0, n0) BUFFER(1, n1) BUFFER(2, n2) BUFFER(3, n3) BUFFER(4, n4)                                          \
  __kernel void KERNEL_NAME(BUFFERS2(a0, t0, n0, a1, t1, n1), BUFFERS3(a2, t2, n2, a3, t3, n3, a4, t4, n4), const Push push)
#define KERNEL6(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3, a4, t4, n4, a5, t5, n5)                          \
  BUFFER(0, n0) BUFFER(1, n1) BUFFER(2, n2) BUFFER(3, n3) BUFFER(4, n4) BUFFER(5, n5)                            \
  __kernel void KERNEL_NAME(BUFFERS4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3),                            \
                            BUFFERS2(a4, t4, n4, a5, t5, n5), const Push push)

uint linear_index() { return (uint)(get_global_id(1) * get_global_size(0) + get_global_id(0)); }

uint4 clamped(int4 column, uint width) {
  return as_uint4(clamp(column, (int4)(0), (int4)((int)width - 1)));  // Oclgrind reads scalars here as if they had lanes
}
float4 zero_outside(float4 numbers, int4 column, uint width, bool has_row) {
  int4 is_inside = (column >= 0) & (column < (int)width) & (int4)(has_row ? -1 : 0);
  return select((float4)(0), numbers, is_inside);
}

// limited() of numbers.glsl for vectors: comparisons with NaN are false.
float16 limited16(float16 x, float low, float high) {
  float16 raised = select(x, (float16)(low), x < low);
  return select(raised, (float16)(high), raised > high);
}
// Results after a residual, whose number 16 * j is the first one.
#define ADD_RESIDUAL16(result, j, from) \
  if (HAS_RESIDUAL != 0) result = limited16(result + vload16(j, from), push.sum_low, push.sum_high);
