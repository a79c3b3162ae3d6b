// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/opencl_api.hpp"

#include <dlfcn.h>

#include <string>

namespace etb::opencl {

namespace {

struct ResultRow {
  cl_int result;
  const char* name;
  Code code;
};
constexpr ResultRow kResults[] = {
    {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE", Code::UNAVAILABLE},
    {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE", Code::UNAVAILABLE},
    // The plugin passes only queues and events of its own. They became invalid with their device.
    {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE", Code::UNAVAILABLE},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     Code::UNAVAILABLE},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE", Code::OUT_OF_MEMORY},
    {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES", Code::OUT_OF_RESOURCES},
    {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY", Code::OUT_OF_MEMORY},
    {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE", Code::INTERNAL},
    {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE", Code::OUT_OF_MEMORY},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR", Code::UNAVAILABLE},
};

}  // namespace

Status from_cl(cl_int result, const char* what) {
  if (result == CL_SUCCESS) return {};
  ResultRow found{result, "error", Code::INTERNAL};
  for (const ResultRow& row : kResults)
    if (row.result == result) found = row;
  return tl::make_unexpected(Error{
      found.code, std::string(what) + ": " + found.name + " (" + std::to_string(result) + ")", {}, result});
}

Result<Functions> open_loader() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return make_error(Code::UNAVAILABLE,
                      "no OpenCL loader: libOpenCL.so.1 cannot be opened\n"
                      "hint: install ocl-icd-libopencl1 and a driver (Debian: pocl-opencl-icd)");
  Functions made;
  const char* missing = nullptr;
#define ETB_CL(name)                                                             \
  made.name = reinterpret_cast<decltype(made.name)>(dlsym(library, "cl" #name)); \
  if (made.name == nullptr) missing = "cl" #name;
#include "plugins/opencl/functions.def"
#undef ETB_CL
  if (missing != nullptr)
    return make_error(Code::UNAVAILABLE, std::string("libOpenCL.so.1 lacks ") + missing);
  return made;
}

}  // namespace etb::opencl
