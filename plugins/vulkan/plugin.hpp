// SPDX-License-Identifier: Apache-2.0
// The Vulkan plugin.
#pragma once

#include "plugins/gpu/run/plugin.hpp"
#include "plugins/vulkan/context.hpp"

namespace etb::vulkan {

class VulkanPlugin : public gpu::GpuPlugin<VulkanApi> {
 public:
  static Result<VulkanPlugin> make(const Host& host, const Options&) { return VulkanPlugin(host); }

 private:
  explicit VulkanPlugin(const Host& host) : GpuPlugin(host) {}
};

}  // namespace etb::vulkan
