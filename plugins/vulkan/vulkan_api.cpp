// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/vulkan_api.hpp"

#include <dlfcn.h>

#include <string>

namespace etb::vulkan {

namespace {

const char* name_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    default:
      return "VkResult";
  }
}

Code code_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
      return Code::OUT_OF_MEMORY;
    case VK_ERROR_TOO_MANY_OBJECTS:
      return Code::OUT_OF_RESOURCES;
    case VK_ERROR_INITIALIZATION_FAILED:
    case VK_ERROR_DEVICE_LOST:
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return Code::UNAVAILABLE;
    default:
      return Code::INTERNAL;
  }
}

}  // namespace

Status from_vk(VkResult result, const char* what) {
  if (result >= VK_SUCCESS) return {};
  return tl::make_unexpected(
      Error{code_of(result),
            std::string(what) + ": " + name_of(result) + " (" + std::to_string(result) + ")",
            {},
            result});
}

void LoaderLibrary::Close::operator()(void* library) const noexcept { dlclose(library); }

Result<LoaderLibrary> LoaderLibrary::open() {
  LoaderLibrary made;
  made.library_.reset(dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!made.library_)
    return make_error(Code::UNAVAILABLE,
                      "no Vulkan loader: libvulkan.so.1 cannot be opened\n"
                      "hint: install libvulkan1 and a driver (Debian: mesa-vulkan-drivers)");
  made.entry_ =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(made.library_.get(), "vkGetInstanceProcAddr"));
  if (made.entry_ == nullptr)
    return make_error(Code::UNAVAILABLE, "libvulkan.so.1 has no vkGetInstanceProcAddr");
  return made;
}

}  // namespace etb::vulkan
