// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/pipeline_cache.hpp"

#include <cstring>

namespace etb::vulkan {

format::Sha256 pipeline_cache_key(const DeviceFacts& facts) {
  format::Sha256Sum sum;
  sum.add(facts.fingerprint);
  sum.add(facts.properties.pipelineCacheUUID);
  return sum.finish();
}

bool is_pipeline_data_of(const VkPhysicalDeviceProperties& device, std::span<const std::byte> data) {
  uint32_t header[4] = {};
  if (data.size() < kPipelineHeaderNbytes) return false;
  std::memcpy(header, data.data(), sizeof(header));
  return header[0] >= kPipelineHeaderNbytes && header[0] <= data.size() &&
         header[1] == VK_PIPELINE_CACHE_HEADER_VERSION_ONE && header[2] == device.vendorID &&
         header[3] == device.deviceID &&
         std::memcmp(data.data() + sizeof(header), device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

}  // namespace etb::vulkan
