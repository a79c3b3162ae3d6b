// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/plugin.hpp"

ETB_DEFINE_PLUGIN(etb::vulkan::VulkanPlugin, "org.etbackend.vulkan", "etbackend", "0.1.0")
