// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader that counts the kernels that a process enqueues, so that a measurement of another program can check that
// it used a device (tests/compare/device_use.py). Each clEnqueueNDRangeKernel rewrites the file that ETB_DEVICE_USE names:
//
//   {"dispatches": 24, "devices": ["pthread-AMD EPYC"]}
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#define ETB_LAYER_EXPORT __attribute__((visibility("default")))

namespace {

std::mutex mutex;  // guards the next two
uint64_t dispatches = 0;
std::set<std::string> used;             // names of devices
const cl_icd_dispatch* next = nullptr;  // what is below this layer; set once
cl_icd_dispatch own;

std::string name_of_device(cl_command_queue queue) {
  cl_device_id device = nullptr;
  char name[256] = "";
  if (next->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, nullptr) == CL_SUCCESS)
    next->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, nullptr);
  return name;
}

// The caller locks the mutex.
void write_file() {
  const char* const path = std::getenv("ETB_DEVICE_USE");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "{\"dispatches\": %llu, \"devices\": [", static_cast<unsigned long long>(dispatches));
  const char* separator = "";
  for (const std::string& name : used) {
    std::fprintf(file, "%s\"%s\"", separator, name.c_str());
    separator = ", ";
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

cl_int CL_API_CALL enqueue_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                  const size_t* offset, const size_t* global, const size_t* local,
                                  cl_uint wait_count, const cl_event* waits, cl_event* out) {
  const cl_int result = next->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, wait_count,
                                                     waits, out);
  if (result != CL_SUCCESS) return result;
  const std::string name = name_of_device(queue);
  const std::lock_guard lock(mutex);
  ++dispatches;
  used.insert(name);
  write_file();
  return result;
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
  own.clEnqueueNDRangeKernel = enqueue_kernel;
  *out_count = known;
  *out = &own;
  return CL_SUCCESS;
}
}
