// SPDX-License-Identifier: Apache-2.0
// Functions of the test layer failing_calls_layer.cpp, which tests find with dlsym. [any]
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdint>

extern "C" {

// A call of "clBuildProgram", "clCreateBuffer", "clCreateSubBuffer", "clEnqueueNDRangeKernel", "clEnqueueWriteBuffer",
// "clEnqueueReadBuffer", "clFlush", "clFinish" or "clWaitForEvents" returns this error instead of the driver's result. So many calls of
// the function before it do not. `function` is kept until then; "": no call.
void etb_fail_opencl_call(const char* function, cl_int result, uint32_t calls_before);

// True until that call.
bool etb_is_opencl_failure_pending(void);

// Calls of clCreateContext that succeeded.
uint32_t etb_opencl_context_count(void);
}
