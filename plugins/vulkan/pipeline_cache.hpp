// SPDX-License-Identifier: Apache-2.0
// Data of a VkPipelineCache in the host's cache: one entry for each device and driver.
#pragma once

#include <cstddef>
#include <span>

#include "plugins/gpu/run/kernel_cache.hpp"
#include "plugins/vulkan/instance.hpp"

namespace etb::vulkan {

format::Sha256 pipeline_cache_key(const DeviceFacts& facts);

// True if the driver of the device wrote the data, as its header says. Drivers have to check this, too; some do not.
bool is_pipeline_data_of(const VkPhysicalDeviceProperties& device, std::span<const std::byte> data);

// Bytes of the header. Drivers without a cache of their own return nothing else, which is not worth a file.
inline constexpr size_t kPipelineHeaderNbytes = 16 + VK_UUID_SIZE;

}  // namespace etb::vulkan
