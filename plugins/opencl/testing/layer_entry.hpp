// SPDX-License-Identifier: Apache-2.0
// The functions of a layer that the OpenCL loader calls. The one source of a layer includes this file, and defines add_functions().
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>

#include <algorithm>
#include <cstring>

#define ETB_LAYER_EXPORT __attribute__((visibility("default")))

namespace {

const cl_icd_dispatch* next = nullptr;  // what is below this layer; set once
cl_icd_dispatch own;                    // what is below, with the functions of this layer

// Replaces functions in `own`.
void add_functions();

}  // namespace

extern "C" {

ETB_LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t nbytes, void* out,
                                                                size_t* out_nbytes) {
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  if (what != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (out != nullptr && nbytes < sizeof(kVersion)) return CL_INVALID_VALUE;
  if (out != nullptr) std::memcpy(out, &kVersion, sizeof(kVersion));
  if (out_nbytes != nullptr) *out_nbytes = sizeof(kVersion);
  return CL_SUCCESS;
}

ETB_LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch* target,
                                                             cl_uint* out_count,
                                                             const cl_icd_dispatch** out) {
  // Loaders of other versions have fewer functions, or more.
  const cl_uint known = std::min<cl_uint>(count, sizeof(own) / sizeof(own.clGetPlatformIDs));
  next = target;
  std::memcpy(static_cast<void*>(&own), target, known * sizeof(own.clGetPlatformIDs));
  add_functions();
  *out_count = known;
  *out = &own;
  return CL_SUCCESS;
}
}
