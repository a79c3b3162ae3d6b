// SPDX-License-Identifier: Apache-2.0
//
// The functions that a program may define to replace the platform's clock, log and abort, at link time. The run time has weak
// ones: with an operating system the monotonic clock, standard error and abort(); without one a clock that stands still, no
// log, and an endless loop. A program that has several platforms passes PlatformHooks instead (platform_hooks.hpp).
#ifndef ETB_HOST_RUNTIME_PLATFORM_FUNCTIONS_H_
#define ETB_HOST_RUNTIME_PLATFORM_FUNCTIONS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns nanoseconds on a monotonic clock: deadlines and times of events. `unused` is NULL.
uint64_t etb_platform_now_ns(void* unused);

// Writes one line of kLoggingPlatformHooks, printable ASCII without its end. `level` is 0 (debug) to 3 (error).
void etb_platform_log(uint32_t level, const char* line);

// Stops the program. The run time never calls it for any program file or input; the C library's abort() and failed assertions
// end here (host/firmware/newlib_functions.c). Must not return.
void etb_platform_abort(const char* reason);

#ifdef __cplusplus
}
#endif

#endif
