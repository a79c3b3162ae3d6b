// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader, for tests: one call of a function returns an error, without the driver. So the plugin sees a kernel
// that is not compiled or not run as real drivers report it.
#include "plugins/opencl/testing/failing_calls_layer.hpp"

#include <CL/cl_layer.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#define ETB_LAYER_EXPORT __attribute__((visibility("default")))

namespace {

std::mutex mutex;  // of all below
const char* failing_function = "";
cl_int failing_result = CL_SUCCESS;
const cl_icd_dispatch* next = nullptr;  // what is below this layer; set once
cl_icd_dispatch own;

// Returns the error that this call is to return; CL_SUCCESS: the driver decides.
cl_int take_failure(const char* function) {
  const std::lock_guard lock(mutex);
  if (std::strcmp(function, failing_function) != 0) return CL_SUCCESS;
  failing_function = "";
  return failing_result;
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices,
                                 const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                                 void* user) {
  const cl_int failure = take_failure("clBuildProgram");
  return failure != CL_SUCCESS ? failure
                               : next->clBuildProgram(program, count, devices, options, notify, user);
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                  const size_t* offset, const size_t* global, const size_t* local,
                                  cl_uint wait_count, const cl_event* waits, cl_event* out) {
  const cl_int failure = take_failure("clEnqueueNDRangeKernel");
  return failure != CL_SUCCESS ? failure
                               : next->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local,
                                                              wait_count, waits, out);
}

}  // namespace

extern "C" {

// The functions that the loader calls.
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
  own.clBuildProgram = build_program;
  own.clEnqueueNDRangeKernel = enqueue_kernel;
  *out_count = known;
  *out = &own;
  return CL_SUCCESS;
}

ETB_LAYER_EXPORT void etb_fail_next_opencl_call(const char* function, cl_int result) {
  const std::lock_guard lock(mutex);
  failing_function = function;
  failing_result = result;
}

ETB_LAYER_EXPORT bool etb_is_opencl_failure_pending(void) {
  const std::lock_guard lock(mutex);
  return *failing_function != '\0';
}
}
