// SPDX-License-Identifier: Apache-2.0
// A layer of the OpenCL loader that counts the kernels that a process enqueues, so that a measurement of another program can check that
// it used a device (tests/compare/device_use.py). Each clEnqueueNDRangeKernel rewrites the file that ETB_DEVICE_USE names:
//
//   {"dispatches": 24, "devices": ["pthread-AMD EPYC"]}
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "plugins/opencl/testing/layer_entry.hpp"

namespace {

std::mutex mutex;  // guards the next two
uint64_t dispatches = 0;
std::set<std::string> used;  // names of devices

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

void add_functions() { own.clEnqueueNDRangeKernel = enqueue_kernel; }

}  // namespace
