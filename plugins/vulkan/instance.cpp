// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/instance.hpp"

#include <algorithm>
#include <cstring>

#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::vulkan {

namespace {

// Returns the names of a device's extensions.
std::vector<std::string> extensions_of(const InstanceFunctions& vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  std::vector<VkExtensionProperties> found;
  if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) == VK_SUCCESS) {
    found.resize(count);
    if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, found.data()) < 0) count = 0;
    found.resize(count);
  }
  std::vector<std::string> names;
  for (const VkExtensionProperties& extension : found) names.emplace_back(extension.extensionName);
  return names;
}

bool contains(const std::vector<std::string>& names, const char* wanted) {
  for (const std::string& name : names)
    if (name == wanted) return true;
  return false;
}

void read_memory(const InstanceFunctions& vk, bool has_budget, DeviceFacts& facts) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  if (has_budget) memory.pNext = &budget;
  vk.GetPhysicalDeviceMemoryProperties2(facts.handle, &memory);
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) == 0) continue;
    facts.memory_total_bytes += heap.size;
    const uint64_t used = budget.heapUsage[i], allowed = budget.heapBudget[i];
    if (has_budget && allowed > used)
      facts.memory_free_bytes += std::min<uint64_t>(allowed - used, heap.size);
  }
}

// Returns true if the device has a queue for compute.
bool find_queue(const InstanceFunctions& vk, DeviceFacts& facts) {
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    facts.queue_family = i;
    facts.timestamp_bits = families[i].timestampValidBits;
    return true;
  }
  return false;
}

// Prefers devices with memory of their own; a CPU driver is the last choice.
int preference_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    default:
      return type == VK_PHYSICAL_DEVICE_TYPE_CPU ? 0 : 1;
  }
}

// Reads what the device can do beyond Vulkan 1.1.
void read_features(const InstanceFunctions& vk, bool has_float16_query, DeviceFacts& facts) {
  VkPhysicalDeviceShaderFloat16Int8Features arithmetic{};
  arithmetic.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  VkPhysicalDevice16BitStorageFeatures storage{};
  storage.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  if (has_float16_query) storage.pNext = &arithmetic;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &storage;
  vk.GetPhysicalDeviceFeatures2(facts.handle, &features);
  facts.has_robust_access = features.features.robustBufferAccess == VK_TRUE;
  facts.has_16bit_storage = storage.storageBuffer16BitAccess == VK_TRUE;
  facts.has_float16 = arithmetic.shaderFloat16 == VK_TRUE;
}

// Sets names and numbers that tell the device and its driver from others. `driver`: NULL if the driver does not tell.
void set_identity(const VkPhysicalDeviceIDProperties& ids, const VkPhysicalDeviceDriverProperties* driver,
                  DeviceFacts& facts) {
  const VkPhysicalDeviceProperties& properties = facts.properties;
  facts.driver_name = driver != nullptr ? driver->driverName : "";
  const bool has_text = driver != nullptr && driver->driverInfo[0] != '\0';  // SwiftShader has none
  facts.driver_version = has_text ? driver->driverInfo : std::to_string(properties.driverVersion);
  facts.driver = driver != nullptr ? facts.driver_name + " " + facts.driver_version : facts.driver_version;
  std::memcpy(facts.uuid.data(), ids.deviceUUID, facts.uuid.size());
  std::memcpy(facts.fingerprint.data(), ids.driverUUID, VK_UUID_SIZE);
  std::memcpy(facts.fingerprint.data() + VK_UUID_SIZE, &properties.vendorID, 4);
  std::memcpy(facts.fingerprint.data() + VK_UUID_SIZE + 4, &properties.deviceID, 4);
  std::memcpy(facts.fingerprint.data() + VK_UUID_SIZE + 8, &properties.driverVersion, 4);
}

// Sets the facts for compilation that the properties have.
void set_target_facts(const VkPhysicalDeviceSubgroupProperties& subgroups, DeviceFacts& facts) {
  const VkPhysicalDeviceProperties& properties = facts.properties;
  facts.api = "Vulkan " + std::to_string(VK_API_VERSION_MAJOR(properties.apiVersion)) + "." +
              std::to_string(VK_API_VERSION_MINOR(properties.apiVersion)) + "." +
              std::to_string(VK_API_VERSION_PATCH(properties.apiVersion));
  facts.max_range_bytes = properties.limits.maxStorageBufferRange;
  facts.max_group_size = properties.limits.maxComputeWorkGroupInvocations;
  facts.shared_memory_bytes = properties.limits.maxComputeSharedMemorySize;
  facts.subgroup_size = subgroups.subgroupSize;
  facts.has_unified_memory = facts.is_cpu || properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
}

// Sets what the execution modes of the kernels that compute in float16 need. One denormal mode for all widths is no support: that of
// float32 is the driver's choice.
void set_float16_controls(const VkPhysicalDeviceFloatControlsProperties& floats, DeviceFacts& facts) {
  facts.rounds_halves = floats.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE &&
                        floats.shaderRoundingModeRTEFloat16 == VK_TRUE &&
                        floats.shaderRoundingModeRTEFloat32 == VK_TRUE;
  facts.keeps_subnormal_halves =
      floats.shaderDenormPreserveFloat16 == VK_TRUE &&
      floats.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
}

// Reads a device. Returns the reason why the plugin cannot use it, "" if it can.
std::string read_device(const InstanceFunctions& vk, DeviceFacts& facts) {
  vk.GetPhysicalDeviceProperties(facts.handle, &facts.properties);
  facts.name = facts.properties.deviceName;
  facts.vendor_number = facts.properties.vendorID;
  facts.device_number = facts.properties.deviceID;
  facts.is_cpu = facts.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  facts.preference = preference_of(facts.properties.deviceType);
  if (facts.properties.apiVersion < VK_API_VERSION_1_1) return "Vulkan 1.0, expected 1.1 or newer";
  // Vulkan guarantees four.
  if (const uint32_t buffers = facts.properties.limits.maxPerStageDescriptorStorageBuffers;
      buffers < gpu::kMaxBindings)
    return std::to_string(buffers) + " storage buffers for a kernel, expected " +
           std::to_string(gpu::kMaxBindings);
  const std::vector<std::string> extensions = extensions_of(vk, facts.handle);
  const bool is_1_2 = facts.properties.apiVersion >= VK_API_VERSION_1_2;
  facts.needs_float_controls = facts.needs_float16_extension = !is_1_2;
  if (!is_1_2 && !contains(extensions, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
    return "no float controls";
  VkPhysicalDeviceFloatControlsProperties floats{};
  floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  const bool has_driver = is_1_2 || contains(extensions, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  if (has_driver) floats.pNext = &driver;
  VkPhysicalDeviceIDProperties ids{};
  ids.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  ids.pNext = &floats;
  VkPhysicalDeviceSubgroupProperties subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  subgroups.pNext = &ids;
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT imports{};
  imports.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
  if (contains(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    imports.pNext = subgroups.pNext;
    subgroups.pNext = &imports;
  }
  VkPhysicalDeviceProperties2 all{};
  all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  all.pNext = &subgroups;
  vk.GetPhysicalDeviceProperties2(facts.handle, &all);
  if (floats.shaderSignedZeroInfNanPreserveFloat32 == VK_FALSE) return "NaN and infinities are not kept";
  constexpr VkSubgroupFeatureFlags kShuffles =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  facts.has_tiles = facts.is_cpu && subgroups.subgroupSize == gpu::kLeastLocalSize &&
                    (subgroups.supportedOperations & kShuffles) == kShuffles &&
                    (subgroups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                    facts.properties.limits.maxTexelBufferElements >= gpu::kLeastRangeBytes / sizeof(float);
  if (!find_queue(vk, facts)) return "no queue for compute";
  set_target_facts(subgroups, facts);
  set_float16_controls(floats, facts);
  facts.host_import_alignment = imports.minImportedHostPointerAlignment;
  set_identity(ids, has_driver ? &driver : nullptr, facts);
  read_memory(vk, contains(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME), facts);
  read_features(vk, is_1_2 || contains(extensions, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME), facts);
  return "";
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::make() {
  const std::shared_ptr<Instance> made(new Instance());
  ETB_ASSIGN(made->library_, LoaderLibrary::open());
  ETB_TRY(made->create());
  return made;
}

Status Instance::create() {
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(library_.entry()(VK_NULL_HANDLE, "vkCreateInstance"));
  const auto get_version = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
      library_.entry()(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
  uint32_t version = VK_API_VERSION_1_0;
  if (get_version != nullptr) (void)get_version(&version);
  if (create == nullptr || version < VK_API_VERSION_1_1)
    return make_error(Code::UNAVAILABLE, "the Vulkan loader is older than Vulkan 1.1");
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "etbackend";
  application.apiVersion = version >= VK_API_VERSION_1_2 ? VK_API_VERSION_1_2 : VK_API_VERSION_1_1;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (const VkResult result = create(&info, nullptr, &handle_); result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return make_error(
        Code::UNAVAILABLE,
        "no Vulkan driver\nhint: install one (Debian: mesa-vulkan-drivers has one for every machine)");
  } else {
    ETB_TRY(from_vk(result, "vkCreateInstance"));
  }
  keep_libraries();
  bool is_whole = true;
#define ETB_VK_INSTANCE(name)                                                              \
  functions_.name = reinterpret_cast<PFN_vk##name>(library_.entry()(handle_, "vk" #name)); \
  is_whole = is_whole && functions_.name != nullptr;
#define ETB_VK_DEVICE(name)
#include "plugins/vulkan/functions.def"
#undef ETB_VK_DEVICE
#undef ETB_VK_INSTANCE
  if (!is_whole) return make_error(Code::UNAVAILABLE, "the Vulkan loader lacks functions of Vulkan 1.1");
  return {};
}

Instance::~Instance() {
  if (handle_ != VK_NULL_HANDLE && functions_.DestroyInstance != nullptr)
    functions_.DestroyInstance(handle_, nullptr);
}

Result<std::vector<DeviceFacts>> Instance::find_devices(std::vector<std::string>& reasons) const {
  uint32_t count = 0;
  ETB_TRY(
      from_vk(functions_.EnumeratePhysicalDevices(handle_, &count, nullptr), "vkEnumeratePhysicalDevices"));
  std::vector<VkPhysicalDevice> handles(count);
  ETB_TRY(from_vk(functions_.EnumeratePhysicalDevices(handle_, &count, handles.data()),
                  "vkEnumeratePhysicalDevices"));
  handles.resize(count);
  std::vector<DeviceFacts> devices;
  for (const VkPhysicalDevice handle : handles) {
    DeviceFacts facts;
    facts.handle = handle;
    const std::string reason = read_device(functions_, facts);
    // Two devices of one uuid are one device, found through two drivers.
    bool is_known = false;
    for (const DeviceFacts& other : devices) is_known = is_known || other.uuid == facts.uuid;
    if (!reason.empty()) {
      reasons.push_back("device '" + facts.name + "' is left out: " + reason);
    } else if (!is_known) {
      devices.push_back(std::move(facts));
    }
  }
  return devices;
}

}  // namespace etb::vulkan
