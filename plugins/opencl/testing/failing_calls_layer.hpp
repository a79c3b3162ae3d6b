// SPDX-License-Identifier: Apache-2.0
// A function of the test layer failing_calls_layer.cpp, which tests find with dlsym. [any]
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

extern "C" {

// The next call of "clBuildProgram" or "clEnqueueNDRangeKernel" returns this error instead of the driver's result. `function` is
// kept until then; "": no call.
void etb_fail_next_opencl_call(const char* function, cl_int result);

// True until that call.
bool etb_is_opencl_failure_pending(void);
}
