// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader, for tests: one call of a function returns an error, without the driver. So the plugin sees a lost
// device, used-up memory, and a kernel that is not compiled or not run as real drivers report them. The layer also counts contexts.
#include "plugins/opencl/testing/failing_calls_layer.hpp"

#include <cstring>
#include <mutex>

#include "plugins/opencl/testing/layer_entry.hpp"

namespace {

std::mutex mutex;  // of all below
const char* failing_function = "";
cl_int failing_result = CL_SUCCESS;
uint32_t calls_before_failure = 0;
uint32_t context_count = 0;

// Returns the error that this call is to return; CL_SUCCESS: the driver decides.
cl_int take_failure(const char* function) {
  const std::lock_guard lock(mutex);
  if (std::strcmp(function, failing_function) != 0 || calls_before_failure-- != 0) return CL_SUCCESS;
  failing_function = "";
  return failing_result;
}

enum class DriverCall { kSkipped, kFirst };

// A function that returns a result.
template <auto Member>
struct Failing;
template <class... Args, cl_int (CL_API_CALL* cl_icd_dispatch::*Member)(Args...)>
struct Failing<Member> {
  static inline const char* name = "";
  static inline DriverCall driver_call = DriverCall::kSkipped;

  static cl_int CL_API_CALL call(Args... args) {
    const cl_int result = driver_call == DriverCall::kFirst ? (next->*Member)(args...) : CL_SUCCESS;
    if (const cl_int failure = result == CL_SUCCESS ? take_failure(name) : CL_SUCCESS; failure != CL_SUCCESS)
      return failure;
    return driver_call == DriverCall::kFirst ? result : (next->*Member)(args...);
  }
  static void add(const char* function, DriverCall how) {
    name = function;
    driver_call = how;
    own.*Member = call;
  }
};

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t nbytes, void* host,
                                 cl_int* out_result) {
  const cl_int failure = take_failure("clCreateBuffer");
  if (failure == CL_SUCCESS) return next->clCreateBuffer(context, flags, nbytes, host, out_result);
  if (out_result != nullptr) *out_result = failure;
  return nullptr;
}

cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* region, cl_int* out_result) {
  const cl_int failure = take_failure("clCreateSubBuffer");
  if (failure == CL_SUCCESS) return next->clCreateSubBuffer(buffer, flags, type, region, out_result);
  if (out_result != nullptr) *out_result = failure;
  return nullptr;
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                      void* user, cl_int* out_result) {
  cl_context made = next->clCreateContext(properties, count, devices, notify, user, out_result);
  const std::lock_guard lock(mutex);
  if (made != nullptr) ++context_count;
  return made;
}

// Memory may be freed after a failure, so the driver ends its work before it.
void add_functions() {
  using Table = cl_icd_dispatch;
  Failing<&Table::clBuildProgram>::add("clBuildProgram", DriverCall::kSkipped);
  Failing<&Table::clEnqueueNDRangeKernel>::add("clEnqueueNDRangeKernel", DriverCall::kSkipped);
  Failing<&Table::clEnqueueWriteBuffer>::add("clEnqueueWriteBuffer", DriverCall::kSkipped);
  Failing<&Table::clEnqueueReadBuffer>::add("clEnqueueReadBuffer", DriverCall::kSkipped);
  Failing<&Table::clFlush>::add("clFlush", DriverCall::kFirst);
  Failing<&Table::clFinish>::add("clFinish", DriverCall::kFirst);
  Failing<&Table::clWaitForEvents>::add("clWaitForEvents", DriverCall::kFirst);
  own.clCreateBuffer = create_buffer;
  own.clCreateSubBuffer = create_sub_buffer;
  own.clCreateContext = create_context;
}

}  // namespace

extern "C" {

ETB_LAYER_EXPORT void etb_fail_opencl_call(const char* function, cl_int result, uint32_t calls_before) {
  const std::lock_guard lock(mutex);
  failing_function = function;
  failing_result = result;
  calls_before_failure = calls_before;
}

ETB_LAYER_EXPORT bool etb_is_opencl_failure_pending(void) {
  const std::lock_guard lock(mutex);
  return *failing_function != '\0';
}

ETB_LAYER_EXPORT uint32_t etb_opencl_context_count(void) {
  const std::lock_guard lock(mutex);
  return context_count;
}
}
