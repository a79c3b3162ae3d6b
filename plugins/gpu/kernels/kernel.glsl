// SPDX-License-Identifier: Apache-2.0
// Beginning of every kernel: the workgroup size is constant 0 of the pipeline; NaN, infinities and signs of zeros are kept.
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_spirv_intrinsics : require

spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);  // SignedZeroInfNanPreserve

layout(local_size_x_id = 0) in;

#define INFINITY uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

// Index of the invocation in a linear kernel, whose workgroups may have two dimensions.
uint linear_index() {
  return (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

// Tests the bits: compilers may assume that x == x.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }

// NaN stays NaN; high wins where low > high.
float limited(float x, float low, float high) {
  float raised = x < low ? low : x;
  return is_nan(x) ? x : (raised > high ? high : raised);
}

// Lavapipe of Mesa 22.3 ends all loops of an invocation after 65,535 turns together, without a word. So loops over elements
// handle four in each turn, and plan/dispatch.hpp counts the turns.
// `n` counts by constants, or drivers would not unroll.
#define FOUR_EACH(first, count) for (uint first = 0; first < (count); first += 4)
#define EACH_OF_FOUR(i, first, count) \
  [[unroll]] for (uint n = 0, i = first; n < 4; ++n, ++i) if (i < (count))
