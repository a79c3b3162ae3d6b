// SPDX-License-Identifier: Apache-2.0
// The OpenCL 1.2 API: its loader, opened at run time, and its functions. So the plugin loads on machines without OpenCL.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <utility>

#include "etb/cpp/result.hpp"

namespace etb::opencl {

// Returns success, or the error of an OpenCL call: `what` failed, with the name of the result.
[[nodiscard]] Status from_cl(cl_int result, const char* what);

struct Functions {
#define ETB_CL(name) decltype(&cl##name) name = nullptr;
#include "plugins/opencl/functions.def"
#undef ETB_CL
};

// The shared library of the loader. It is never closed: drivers' threads may outlive the plugin.
[[nodiscard]] Result<Functions> open_loader();

// A handle that one of the functions releases.
template <class Handle, auto Release>
class Owned {
 public:
  Owned() = default;
  Owned(const Functions& functions, Handle handle) : functions_(&functions), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : functions_(other.functions_), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(functions_, other.functions_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != Handle{}) (void)(functions_->*Release)(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  const Functions* functions_ = nullptr;
  Handle handle_ = {};
};

using OwnedContext = Owned<cl_context, &Functions::ReleaseContext>;
using OwnedQueue = Owned<cl_command_queue, &Functions::ReleaseCommandQueue>;
using OwnedMemory = Owned<cl_mem, &Functions::ReleaseMemObject>;
using OwnedProgram = Owned<cl_program, &Functions::ReleaseProgram>;
using OwnedKernel = Owned<cl_kernel, &Functions::ReleaseKernel>;
using OwnedEvent = Owned<cl_event, &Functions::ReleaseEvent>;

}  // namespace etb::opencl
