// SPDX-License-Identifier: Apache-2.0
// Beginning of every kernel for Vulkan; kernel.cl is the one for OpenCL. Kernels are written in what GLSL and OpenCL C have
// in common, and in the macros and functions that both files define. The workgroup size is constant 0 of the pipeline;
// NaN, infinities and signs of zeros are kept.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require
#ifdef HALF_STORAGE
#extension GL_EXT_shader_16bit_storage : require
#endif
#ifdef HALF_ARITHMETIC
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif

spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);  // SignedZeroInfNanPreserve
#ifdef HALF_ARITHMETIC
// Results and conversions of float16 are rounded to the nearest number. Rounding has both widths, because some devices have one mode
// for all. The plugin removes DenormPreserve for a device without it.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 16);  // SignedZeroInfNanPreserve
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 16);  // RoundingModeRTE
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 32);
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 16);  // DenormPreserve
#endif

layout(local_size_x_id = 0) in;

#define INFINITY uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)
#define UNROLL [[unroll]]
// For loops over dimensions. Mesa unrolls those that index an array, and lavapipe then compiles a copy for each of six.
#define ROLLED [[dont_unroll]]
#define ELEMENT(vector, i) (vector)[i]
#define VEC4 vec4    // constructors, where OpenCL C has casts
#define IVEC4 ivec4
#define UVEC2 uvec2
#define UVEC4 uvec4

// A number that is constant in a pipeline, by the index of its specialization; for OpenCL, a macro of the program.
#define SPECIALIZED(index, name) layout(constant_id = index) const uint name = 0u;
// 1 if a product or convolution adds a residual: a constant, because lavapipe computes both sides of a branch.
layout(constant_id = 9) const uint HAS_RESIDUAL = 0u;
// A function whose calls go to another one in a pipeline (plugins/vulkan/linked_code.hpp); for OpenCL, a macro of the program.
#define LINKED(name) float name(float x, float y, float p0, float p1) { return x; }
#define LINKED_HALF(name) half4 name(half4 x, half4 y, float p0, float p1) { return x; }

// Memory that a workgroup shares. GLSL declares it before the kernel, OpenCL C inside. BARRIER: all invocations of the
// workgroup wait for each other, and see what the others wrote.
#define SHARED_OUTSIDE(type, name, count) shared type name[count];
#define SHARED_INSIDE(type, name, count)
#define BARRIER barrier()

#define LOCAL_X gl_LocalInvocationID.x
#define GROUP_X gl_WorkGroupID.x
#define GLOBAL_X gl_GlobalInvocationID.x
#define GROUP_Y gl_WorkGroupID.y
#define GROUP_Z gl_WorkGroupID.z

// The arguments of a dispatch, which kernels read as push.NAME.
#define BEGIN_PUSH layout(push_constant) uniform Push {
#define END_PUSH } push;

// KERNELn(access, type, name ...) { ... }: a kernel of n buffers, each with elements of a type.
#define READS readonly
#define WRITES writeonly
#define UPDATES
#ifdef HALF_STORAGE
// Bit k: buffer k has numbers of float16, 16 bits each, which kernels widen when they read and round when they write. A buffer is
// declared with both types, of which a pipeline keeps one. Bit 9: the function of the kernel is computed in float16.
SPECIALIZED(10, HALVES)
#define BUFFER(index, access, type, name)                                                            \
  layout(set = 0, binding = index) access buffer Buffer##index { type name[]; };                     \
  layout(set = 0, binding = index) access buffer Halves##index { HALF_##type name##_halves[]; };     \
  const bool name##_is_half = (HALVES >> index & 1u) != 0u;
#define IS_HALF(name) name##_is_half
#ifdef HALF_ARITHMETIC
// Numbers of the device, which converts and rounds them. NARROW: to float16, WIDE: to float32; a 4 at the end: four of them.
#define half4 f16vec4
#define HALF4 f16vec4
#define HALF_float float16_t
#define HALF_vec4 half4
#define HALF_uint float16_t
#define HALF_uvec4 half4
#define NARROW(x) float16_t(x)
#define NARROW4(x) f16vec4(x)
#define WIDE4(x) vec4(x)
#define HALF_ELEMENT ELEMENT
#define RAW_HALF(name, i) name##_halves[i]
#define RAW_HALVES(name, i) name##_halves[i]
#define WRITE_RAW(name, i, number) name##_halves[i] = number;
#define WRITE_RAW4(name, i, numbers) name##_halves[i] = numbers;
#define READ_HALF(name, i) float(name##_halves[i])
#define READ_HALVES(name, i) vec4(name##_halves[i])
#define WRITE_HALF(name, i, number) name##_halves[i] = float16_t(number);
#define WRITE_HALVES(name, i, numbers) name##_halves[i] = f16vec4(numbers);
#define GREATER4 greaterThan
#define LESS4 lessThan
#define EQUAL4 equal
#define LESS_EQUAL4 lessThanEqual
#define WHERE4(mask, yes, no) mix(no, yes, mask)
// The bits of two numbers in each word.
uvec2 packed_halves(half4 x) { return uvec2(packFloat2x16(x.xy), packFloat2x16(x.zw)); }
half4 unpacked_halves(uvec2 words) { return half4(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
bvec4 are_nan(half4 x) {
  uvec2 words = packed_halves(x) & 0x7fff7fffu;
  return bvec4((words.x & 0xffffu) > 0x7c00u, words.x > 0x7c00ffffu, (words.y & 0xffffu) > 0x7c00u, words.y > 0x7c00ffffu);
}
#else
// Numbers are integers here, because drivers may read subnormal ones as 0, and round as they like.
#define HALF_float uint16_t
#define HALF_vec4 u16vec4
#define HALF_uint uint16_t
#define HALF_uvec4 u16vec4
#define READ_HALF(name, i) half_number(uint(name##_halves[i]))
#define READ_HALVES(name, i) half_numbers(uvec4(name##_halves[i]))
#define WRITE_HALF(name, i, number) name##_halves[i] = uint16_t(half_bits(number));
#define WRITE_HALVES(name, i, numbers) name##_halves[i] = u16vec4(half_bits4(numbers));
#endif
#else
#define BUFFER(index, access, type, name) layout(set = 0, binding = index) access buffer Buffer##index { type name[]; };
#endif
#define FLOAT_BITS floatBitsToUint
#define BITS_FLOAT uintBitsToFloat
#define KERNEL2(a0, t0, n0, a1, t1, n1) BUFFER(0, a0, t0, n0) BUFFER(1, a1, t1, n1) void main()
#define KERNEL3(a0, t0, n0, a1, t1, n1, a2, t2, n2) BUFFER(2, a2, t2, n2) KERNEL2(a0, t0, n0, a1, t1, n1)
#define KERNEL4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3) \
  BUFFER(3, a3, t3, n3) KERNEL3(a0, t0, n0, a1, t1, n1, a2, t2, n2)
#define KERNEL5(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3, a4, t4, n4) \
  BUFFER(4, a4, t4, n4) KERNEL4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3)
#define KERNEL6(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3, a4, t4, n4, a5, t5, n5) \
  BUFFER(5, a5, t5, n5) BUFFER(4, a4, t4, n4) KERNEL4(a0, t0, n0, a1, t1, n1, a2, t2, n2, a3, t3, n3)

// Index of the invocation in a linear kernel, whose workgroups may have two dimensions.
uint linear_index() {
  return (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

// Columns of an image, those outside of it replaced by the nearest inside.
uvec4 clamped(ivec4 column, uint width) { return uvec4(clamp(column, ivec4(0), ivec4(int(width) - 1))); }
// Numbers of four columns, with 0 outside of the image.
vec4 zero_outside(vec4 numbers, ivec4 column, uint width, bool has_row) {
  bvec4 is_inside = bvec4(uvec4(greaterThanEqual(column, ivec4(0))) & uvec4(lessThan(column, ivec4(int(width)))) &
                          uvec4(has_row));
  return mix(vec4(0), numbers, is_inside);
}

#include "numbers.glsl"
