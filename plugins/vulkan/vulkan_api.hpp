// SPDX-License-Identifier: Apache-2.0
// The Vulkan API: its loader, opened at run time, and its functions. So the plugin loads on machines without Vulkan.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <memory>

#include "etb/cpp/result.hpp"

namespace etb::vulkan {

// Returns success, or the error of a Vulkan call: `what` failed, with the name of the result.
[[nodiscard]] Status from_vk(VkResult result, const char* what);

// The shared library of the loader, closed at the end.
class LoaderLibrary {
 public:
  [[nodiscard]] static Result<LoaderLibrary> open();
  PFN_vkGetInstanceProcAddr entry() const { return entry_; }

 private:
  struct Close {
    void operator()(void* library) const noexcept;
  };
  std::unique_ptr<void, Close> library_;
  PFN_vkGetInstanceProcAddr entry_ = nullptr;
};

struct InstanceFunctions {
#define ETB_VK_INSTANCE(name) PFN_vk##name name = nullptr;
#define ETB_VK_DEVICE(name)
#include "plugins/vulkan/functions.def"
#undef ETB_VK_DEVICE
#undef ETB_VK_INSTANCE
};

struct DeviceFunctions {
#define ETB_VK_INSTANCE(name)
#define ETB_VK_DEVICE(name) PFN_vk##name name = nullptr;
#include "plugins/vulkan/functions.def"
#undef ETB_VK_DEVICE
#undef ETB_VK_INSTANCE
};

}  // namespace etb::vulkan
