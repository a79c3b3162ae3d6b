// SPDX-License-Identifier: Apache-2.0
// A layer of the Vulkan loader, for tests: one call of a function returns an error, without the driver. So the plugin sees a lost
// device and used-up memory as real drivers report them. The layer also counts devices and the memory that is allocated, and hides
// features.
#include "plugins/vulkan/testing/failing_calls_layer.hpp"

#include <cstring>
#include <map>
#include <mutex>

#include "plugins/vulkan/testing/layer_link.hpp"

namespace {

using etb::vulkan::find_link;

// Functions below this layer. A device's queues have the same key as the device.
struct Next {
  PFN_vkGetDeviceProcAddr get = nullptr;
  PFN_vkQueueSubmit queue_submit = nullptr;
  PFN_vkWaitForFences wait_for_fences = nullptr;
  PFN_vkAllocateMemory allocate_memory = nullptr;
  PFN_vkCreateComputePipelines create_pipelines = nullptr;
};

std::mutex mutex;  // guards the variables below
std::map<void*, Next> devices;
VkInstance last_instance = VK_NULL_HANDLE;
PFN_vkGetInstanceProcAddr next_instance_function = nullptr;
PFN_vkGetPhysicalDeviceFeatures2 next_get_features = nullptr;
PFN_vkGetPhysicalDeviceProperties2 next_get_properties = nullptr;
const char* failing_function = "";
VkResult failing_result = VK_SUCCESS;
uint64_t allocated_bytes = 0;
uint32_t device_count = 0;
uint32_t hidden_features = ETB_HIDE_NOTHING;

template <class Handle>
Next next_of(Handle handle) {
  const std::lock_guard lock(mutex);
  return devices[*reinterpret_cast<void**>(handle)];  // the loader's dispatch table
}

// Returns the error that this call is to return; VK_SUCCESS: the driver decides.
VkResult take_failure(const char* function) {
  const std::lock_guard lock(mutex);
  if (std::strcmp(function, failing_function) != 0) return VK_SUCCESS;
  failing_function = "";
  return failing_result;
}

VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                            VkFence fence) {
  const VkResult failure = take_failure("vkQueueSubmit");
  return failure != VK_SUCCESS ? failure : next_of(queue).queue_submit(queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, uint32_t count, const VkFence* fences,
                                               VkBool32 all, uint64_t timeout_ns) {
  // The driver ends the work first: its memory is freed after the failure.
  const VkResult result = next_of(device).wait_for_fences(device, count, fences, all, timeout_ns);
  const VkResult failure = result == VK_SUCCESS ? take_failure("vkWaitForFences") : VK_SUCCESS;
  return failure != VK_SUCCESS ? failure : result;
}

VKAPI_ATTR VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                               const VkAllocationCallbacks* callbacks, VkDeviceMemory* out) {
  const VkResult failure = take_failure("vkAllocateMemory");
  if (failure != VK_SUCCESS) return failure;
  const VkResult result = next_of(device).allocate_memory(device, info, callbacks, out);
  const std::lock_guard lock(mutex);
  if (result == VK_SUCCESS) allocated_bytes += info->allocationSize;
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const VkComputePipelineCreateInfo* infos,
                                                const VkAllocationCallbacks* callbacks, VkPipeline* out) {
  const VkResult failure = take_failure("vkCreateComputePipelines");
  return failure != VK_SUCCESS
             ? failure
             : next_of(device).create_pipelines(device, cache, count, infos, callbacks, out);
}

// Returns a struct of a chain; NULL if the caller does not ask for it, or the feature is not hidden.
template <class Struct>
Struct* find_hidden(void* chain, etb_vulkan_hidden feature, VkStructureType type) {
  for (auto* each = static_cast<VkBaseOutStructure*>(chain); each != nullptr; each = each->pNext)
    if ((hidden_features & feature) != 0 && each->sType == type) return reinterpret_cast<Struct*>(each);
  return nullptr;
}

VKAPI_ATTR void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2* features) {
  const std::lock_guard lock(mutex);
  next_get_features(physical, features);
  if (auto* const storage = find_hidden<VkPhysicalDevice16BitStorageFeatures>(
          features->pNext, ETB_HIDE_16BIT_STORAGE, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES))
    storage->storageBuffer16BitAccess = VK_FALSE;
  if (auto* const arithmetic = find_hidden<VkPhysicalDeviceShaderFloat16Int8Features>(
          features->pNext, ETB_HIDE_FLOAT16, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES))
    arithmetic->shaderFloat16 = VK_FALSE;
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical,
                                          VkPhysicalDeviceProperties2* properties) {
  const std::lock_guard lock(mutex);
  next_get_properties(physical, properties);
  if (auto* const floats = find_hidden<VkPhysicalDeviceFloatControlsProperties>(
          properties->pNext, ETB_HIDE_ROUNDING, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES))
    floats->shaderRoundingModeRTEFloat16 = VK_FALSE;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info,
                                               const VkAllocationCallbacks* callbacks, VkInstance* out) {
  auto* const link =
      find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, callbacks, out);
  const std::lock_guard lock(mutex);
  next_instance_function = get;
  if (result != VK_SUCCESS) return result;
  last_instance = *out;
  // Later the loader would return this layer's own function.
  next_get_features =
      reinterpret_cast<PFN_vkGetPhysicalDeviceFeatures2>(get(*out, "vkGetPhysicalDeviceFeatures2"));
  next_get_properties =
      reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(get(*out, "vkGetPhysicalDeviceProperties2"));
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkDevice* out) {
  auto* const link =
      find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const auto below = *link->u.pLayerInfo;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(below.pfnNextGetInstanceProcAddr(last_instance, "vkCreateDevice"));
  VkResult result = take_failure("vkCreateDevice");
  if (result == VK_SUCCESS) result = create(physical, info, callbacks, out);
  if (result != VK_SUCCESS) return result;
  Next next;
  next.get = below.pfnNextGetDeviceProcAddr;
  next.queue_submit = reinterpret_cast<PFN_vkQueueSubmit>(next.get(*out, "vkQueueSubmit"));
  next.wait_for_fences = reinterpret_cast<PFN_vkWaitForFences>(next.get(*out, "vkWaitForFences"));
  next.allocate_memory = reinterpret_cast<PFN_vkAllocateMemory>(next.get(*out, "vkAllocateMemory"));
  next.create_pipelines =
      reinterpret_cast<PFN_vkCreateComputePipelines>(next.get(*out, "vkCreateComputePipelines"));
  const std::lock_guard lock(mutex);
  devices[*reinterpret_cast<void**>(*out)] = next;
  ++device_count;
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
                             own("vkGetPhysicalDeviceFeatures2", get_features),
                             own("vkGetPhysicalDeviceProperties2", get_properties),
                             own("vkQueueSubmit", queue_submit),
                             own("vkWaitForFences", wait_for_fences),
                             own("vkAllocateMemory", allocate_memory),
                             own("vkCreateComputePipelines", create_pipelines)};
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

VK_LAYER_EXPORT void etb_fail_next_vulkan_call(const char* function, VkResult result) {
  const std::lock_guard lock(mutex);
  failing_function = function;
  failing_result = result;
}

VK_LAYER_EXPORT void etb_hide_vulkan_features(uint32_t hidden) {
  const std::lock_guard lock(mutex);
  hidden_features = hidden;
}

VK_LAYER_EXPORT uint64_t etb_vulkan_allocated_bytes(void) {
  const std::lock_guard lock(mutex);
  return allocated_bytes;
}

VK_LAYER_EXPORT uint32_t etb_vulkan_device_count(void) {
  const std::lock_guard lock(mutex);
  return device_count;
}

VK_LAYER_EXPORT bool etb_is_vulkan_failure_pending(void) {
  const std::lock_guard lock(mutex);
  return *failing_function != '\0';
}
}
