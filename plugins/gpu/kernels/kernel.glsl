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

// NaN stays NaN.
float limited(float x, float low, float high) { return is_nan(x) ? x : (x < low ? low : (x > high ? high : x)); }
