// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/plugin.hpp"

#include <cstring>

#include "etb/cpp/bytes.hpp"
#include "plugins/gpu/graph/payload.hpp"

namespace etb::vulkan {

namespace {

// Prefers devices with memory of their own; a CPU driver is the last choice.
int rank_of(const DeviceFacts& facts) {
  switch (facts.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    default:
      return facts.is_cpu() ? 0 : 1;
  }
}

etb_device_info describe(const DeviceFacts& facts) {
  etb_device_info info{};
  info.struct_size = ETB_INIT_SIZE(etb_device_info);
  std::memcpy(info.uuid, facts.uuid.data(), sizeof(info.uuid));
  std::memcpy(info.fingerprint, facts.fingerprint.data(), sizeof(info.fingerprint));
  info.vendor_number = facts.properties.vendorID;
  info.device_number = facts.properties.deviceID;
  info.memory_total_bytes = facts.memory_total_bytes;
  info.memory_free_bytes = facts.memory_free_bytes;
  info.kind = facts.is_cpu() ? "cpu" : "gpu";
  info.name = facts.properties.deviceName;
  info.driver_version = facts.driver.c_str();
  return info;
}

}  // namespace

Result<VulkanPlugin> VulkanPlugin::make(const Host& host, const Options&) {
  VulkanPlugin plugin;
  plugin.host_ = host;
  return plugin;
}

void VulkanPlugin::warn(const std::string& text) const {
  host_.log(ETB_LOG_WARNING, ("vulkan: " + text).c_str());
}

Result<std::vector<DeviceFacts>> VulkanPlugin::find_devices() const {
  if (!shared_->instance) {
    ETB_ASSIGN(shared_->instance, Instance::make());
  }
  std::vector<std::string> reasons;
  ETB_ASSIGN(std::vector<DeviceFacts> devices, shared_->instance->find_devices(reasons));
  for (const std::string& reason : reasons) warn(reason);
  if (devices.empty())
    return make_error(Code::UNAVAILABLE,
                      "no usable Vulkan device\nhint: install a driver (Debian: mesa-vulkan-drivers has one "
                      "for every machine)");
  return devices;
}

// A machine without Vulkan is no error: the log has the reason.
Status VulkanPlugin::enumerate(const DeviceSink& sink) const {
  std::vector<DeviceFacts> devices;
  {
    const std::lock_guard lock(shared_->mutex);
    auto found = find_devices();
    if (!found) {
      warn(found.error().message);
      return {};
    }
    devices = *std::move(found);
  }
  for (const DeviceFacts& facts : devices) ETB_TRY(sink.put(describe(facts)));
  return {};
}

Result<std::shared_ptr<Device>> VulkanPlugin::open(const uint8_t* uuid) const {
  const std::lock_guard lock(shared_->mutex);
  ETB_ASSIGN(const std::vector<DeviceFacts> devices, find_devices());
  const DeviceFacts* chosen = nullptr;
  for (const DeviceFacts& facts : devices) {
    const bool is_wanted = uuid == nullptr ? chosen == nullptr || rank_of(facts) > rank_of(*chosen)
                                           : std::memcmp(uuid, facts.uuid.data(), facts.uuid.size()) == 0;
    if (is_wanted) chosen = &facts;
  }
  if (chosen == nullptr) return make_error(Code::UNAVAILABLE, "device: no device of this uuid now");
  std::shared_ptr<Device>& device = shared_->devices[chosen->uuid];
  if (!device || device->is_lost()) {
    ETB_ASSIGN(device, Device::open(shared_->instance, *chosen));
  }
  ETB_TRY(device->check_process());
  return device;
}

Verdict VulkanPlugin::check_payload(const etb_payload_check& check) const {
  ByteReader prefix(to_span(check.prefix));
  if (prefix.read<uint32_t>() != gpu::kPayloadMagic)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "does not begin with ETBG"};
  if (prefix.read<uint32_t>() != gpu::kPayloadVersion)
    return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, "another version"};
  return {};
}

Status VulkanPlugin::partition(const Graph& graph, const PartitionSink& sink) const {
  return gpu::claim_nodes(graph, sink);
}

Result<Artifact> VulkanPlugin::compile(const Region& region) const { return gpu::compile_region(region); }

}  // namespace etb::vulkan

ETB_DEFINE_PLUGIN(etb::vulkan::VulkanPlugin, "org.etbackend.vulkan", "etbackend", "0.1.0")
