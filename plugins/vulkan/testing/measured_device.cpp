// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/measured_device.hpp"

#include "plugins/vulkan/plugin.hpp"

namespace etb::gpu {

namespace {

class VulkanMeasuredDevice final : public MeasuredDeviceOf<vulkan::VulkanApi> {
 public:
  using MeasuredDeviceOf::MeasuredDeviceOf;

  Status copy(uint64_t nbytes) override {
    if (nbytes != nbytes_) {
      ETB_ASSIGN(from_, device().make_buffer(nbytes, vulkan::BufferUse::kArena));
      ETB_ASSIGN(to_, device().make_buffer(nbytes, vulkan::BufferUse::kArena));
      nbytes_ = nbytes;
    }
    return device().copy(from_, to_, nbytes);
  }

 private:
  vulkan::Buffer from_, to_;
  uint64_t nbytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<MeasuredDevice>> make_measured_device() {
  ETB_ASSIGN(vulkan::VulkanPlugin plugin, vulkan::VulkanPlugin::make(Host(), Options()));
  ETB_ASSIGN(auto device, plugin.open(nullptr));
  return std::make_unique<VulkanMeasuredDevice>(std::move(plugin), std::move(device));
}

}  // namespace etb::gpu
