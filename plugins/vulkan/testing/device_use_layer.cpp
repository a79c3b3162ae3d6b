// SPDX-License-Identifier: Apache-2.0
// A layer of the Vulkan loader that counts what a process submits to its devices, so that a measurement of another program can check that
// it used one (tests/compare/device_use.py). Each vkQueueSubmit rewrites the file that ETB_DEVICE_USE names:
//
//   {"dispatches": 24, "submits": 3, "devices": ["llvmpipe (LLVM 15.0.6, 256 bits)"]}
//
// Dispatches are those of submitted command buffers, counted at each submit.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "plugins/vulkan/testing/layer_link.hpp"

namespace {

// Functions below this layer, and the name of the device. A device's queues and command buffers have the same key as the device.
struct Next {
  PFN_vkGetDeviceProcAddr get = nullptr;
  PFN_vkQueueSubmit queue_submit = nullptr;
  PFN_vkBeginCommandBuffer begin = nullptr;
  PFN_vkCmdDispatch dispatch = nullptr;
  PFN_vkCmdDispatchIndirect dispatch_indirect = nullptr;
  std::string name = {};
};

std::mutex mutex;  // guards the variables below
std::map<void*, Next> devices;
std::map<VkCommandBuffer, uint64_t> recorded;  // dispatches since vkBeginCommandBuffer
uint64_t dispatches = 0, submits = 0;
std::set<std::string> used;  // names of devices
VkInstance last_instance = VK_NULL_HANDLE;
PFN_vkGetInstanceProcAddr next_instance_function = nullptr;

template <class Handle>
Next next_of(Handle handle) {
  const std::lock_guard lock(mutex);
  return devices[*reinterpret_cast<void**>(handle)];  // the loader's dispatch table
}

// The caller locks the mutex.
void write_file() {
  const char* const path = std::getenv("ETB_DEVICE_USE");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "{\"dispatches\": %llu, \"submits\": %llu, \"devices\": [",
               static_cast<unsigned long long>(dispatches), static_cast<unsigned long long>(submits));
  const char* separator = "";
  for (const std::string& name : used) {
    std::fprintf(file, "%s\"%s\"", separator, name.c_str());
    separator = ", ";
  }
  std::fprintf(file, "]}\n");
  std::fclose(file);
}

void count_dispatch(VkCommandBuffer buffer) {
  const std::lock_guard lock(mutex);
  ++recorded[buffer];
}

VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer buffer, const VkCommandBufferBeginInfo* info) {
  {
    const std::lock_guard lock(mutex);
    recorded[buffer] = 0;
  }
  return next_of(buffer).begin(buffer, info);
}

VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
  count_dispatch(buffer);
  next_of(buffer).dispatch(buffer, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL dispatch_indirect(VkCommandBuffer buffer, VkBuffer arguments,
                                             VkDeviceSize offset) {
  count_dispatch(buffer);
  next_of(buffer).dispatch_indirect(buffer, arguments, offset);
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                            VkFence fence) {
  const Next next = next_of(queue);
  const VkResult result = next.queue_submit(queue, count, infos, fence);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(mutex);
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t b = 0; b < infos[i].commandBufferCount; ++b)
      dispatches += recorded[infos[i].pCommandBuffers[b]];
  ++submits;
  used.insert(next.name);
  write_file();
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* callbacks, VkInstance* out) {
  auto* const link = etb::vulkan::find_link<VkLayerInstanceCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, callbacks, out);
  const std::lock_guard lock(mutex);
  next_instance_function = get;
  if (result == VK_SUCCESS) last_instance = *out;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkDevice* out) {
  auto* const link = etb::vulkan::find_link<VkLayerDeviceCreateInfo>(
      info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const auto below = *link->u.pLayerInfo;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto find = [&](const char* name) { return below.pfnNextGetInstanceProcAddr(last_instance, name); };
  const VkResult result =
      reinterpret_cast<PFN_vkCreateDevice>(find("vkCreateDevice"))(physical, info, callbacks, out);
  if (result != VK_SUCCESS) return result;
  VkPhysicalDeviceProperties properties{};
  reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(find("vkGetPhysicalDeviceProperties"))(physical,
                                                                                             &properties);
  Next next;
  next.name = properties.deviceName;
  next.get = below.pfnNextGetDeviceProcAddr;
  next.queue_submit = reinterpret_cast<PFN_vkQueueSubmit>(next.get(*out, "vkQueueSubmit"));
  next.begin = reinterpret_cast<PFN_vkBeginCommandBuffer>(next.get(*out, "vkBeginCommandBuffer"));
  next.dispatch = reinterpret_cast<PFN_vkCmdDispatch>(next.get(*out, "vkCmdDispatch"));
  next.dispatch_indirect =
      reinterpret_cast<PFN_vkCmdDispatchIndirect>(next.get(*out, "vkCmdDispatchIndirect"));
  const std::lock_guard lock(mutex);
  devices[*reinterpret_cast<void**>(*out)] = next;
  return result;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice device, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance instance, const char* name);

struct Own {
  const char* name;
  PFN_vkVoidFunction function;
};
template <class Function>
Own own(const char* name, Function function) {
  return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

PFN_vkVoidFunction find_own(const char* name) {
  static const Own kOwn[] = {own("vkCreateInstance", create_instance),
                             own("vkCreateDevice", create_device),
                             own("vkGetInstanceProcAddr", get_instance_function),
                             own("vkGetDeviceProcAddr", get_device_function),
                             own("vkQueueSubmit", queue_submit),
                             own("vkBeginCommandBuffer", begin),
                             own("vkCmdDispatch", dispatch),
                             own("vkCmdDispatchIndirect", dispatch_indirect)};
  for (const Own& each : kOwn)
    if (std::strcmp(each.name, name) == 0) return each.function;
  return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice device, const char* name) {
  if (const PFN_vkVoidFunction found = find_own(name)) return found;
  return next_of(device).get(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance instance, const char* name) {
  if (const PFN_vkVoidFunction found = find_own(name)) return found;
  return instance != VK_NULL_HANDLE ? next_instance_function(instance, name) : nullptr;
}

}  // namespace

extern "C" {

// The function that the loader calls first.
VK_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* versions) {
  versions->loaderLayerInterfaceVersion = 2;
  versions->pfnGetInstanceProcAddr = get_instance_function;
  versions->pfnGetDeviceProcAddr = get_device_function;
  versions->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
}
