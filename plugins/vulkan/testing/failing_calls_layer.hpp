// SPDX-License-Identifier: Apache-2.0
// Functions of the test layer failing_calls_layer.cpp, which tests find with dlsym. [any]
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>

extern "C" {

// The next call of "vkQueueSubmit", "vkWaitForFences", "vkAllocateMemory", "vkCreateComputePipelines" or "vkCreateDevice" returns this
// error instead of the driver's result. `function` is kept until then; "": no call.
void etb_fail_next_vulkan_call(const char* function, VkResult result);

// Devices that are found from now on lack these: `hidden` is their sum.
enum etb_vulkan_hidden {
  ETB_HIDE_NOTHING = 0,
  ETB_HIDE_16BIT_STORAGE = 1,  // kernels read and write numbers of 16 bits
  ETB_HIDE_FLOAT16 = 2,        // they compute in float16
  ETB_HIDE_ROUNDING = 4        // they round float16 to the nearest number on request
};
void etb_hide_vulkan_features(uint32_t hidden);

// True until that call.
bool etb_is_vulkan_failure_pending(void);

// Bytes of all calls of vkAllocateMemory that succeeded. Freed memory stays counted.
uint64_t etb_vulkan_allocated_bytes(void);

// Calls of vkCreateDevice that succeeded.
uint32_t etb_vulkan_device_count(void);
}
