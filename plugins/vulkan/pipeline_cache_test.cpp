// SPDX-License-Identifier: Apache-2.0
// Tests data of pipelines in the host's cache. Tests of devices are skipped where there is none.
#include "plugins/vulkan/pipeline_cache.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "plugins/gpu/testing/cache_host.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/vulkan/device.hpp"

namespace etb::vulkan {
namespace {

using gpu::CacheHost;
using gpu::MemoryCache;

// Returns data with a right header.
std::vector<std::byte> data_of(const VkPhysicalDeviceProperties& device, size_t nbytes) {
  std::vector<std::byte> data(nbytes, std::byte{0x5a});
  const uint32_t header[4] = {kPipelineHeaderNbytes, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, device.vendorID,
                              device.deviceID};
  std::memcpy(data.data(), header, sizeof(header));
  std::memcpy(data.data() + sizeof(header), device.pipelineCacheUUID, VK_UUID_SIZE);
  return data;
}

TEST(VulkanPipelineData, IsThatOfTheDriver) {
  VkPhysicalDeviceProperties device{};
  device.vendorID = 5;
  device.deviceID = 6;
  device.pipelineCacheUUID[3] = 7;
  const std::vector<std::byte> good = data_of(device, 100);
  EXPECT_TRUE(is_pipeline_data_of(device, good));
  EXPECT_TRUE(is_pipeline_data_of(device, std::span(good).first(kPipelineHeaderNbytes)));
  for (size_t i = 0; i < kPipelineHeaderNbytes; ++i) {
    std::vector<std::byte> damaged = good;
    damaged[i] ^= std::byte{0x80};
    EXPECT_FALSE(is_pipeline_data_of(device, damaged)) << "byte " << i;
    EXPECT_FALSE(is_pipeline_data_of(device, std::span(good).first(i))) << i << " bytes";
  }
}

const std::string kOtherBytes = "gpu.cache-entry-dropped: other bytes than were stored";
const std::string kOtherDriver = "gpu.cache-entry-dropped: pipelines of another driver or device";

TEST(VulkanPipelineData, AnEntryWithOtherBytesIsDroppedAndReported) {
  CacheHost made;
  const gpu::KernelCache cache{Host(&made.raw)};
  const format::Sha256 key{};
  cache.put(key, data_of({}, 100));
  EXPECT_TRUE(cache.find(key).has_value());
  EXPECT_TRUE(made.facts.empty());
  made.cache.entries.begin()->second.back() ^= 1;
  EXPECT_FALSE(cache.find(key).has_value());
  EXPECT_EQ(made.facts, std::vector{kOtherBytes});
}

// Drivers ignore data of a right header and a wrong rest; ours must not pass on anything else.
TEST(VulkanPipelineData, IsReadOnceAndNeverWrong) {
  auto instance = Instance::make();
  if (!instance) GTEST_SKIP() << instance.error().message;
  std::vector<std::string> reasons;
  const auto devices = (*instance)->find_devices(reasons);
  if (!devices || devices->empty()) GTEST_SKIP() << "no Vulkan device: install mesa-vulkan-drivers";
  const DeviceFacts& facts = devices->at(0);
  const auto plan = gpu::make_execution_plan(gpu::layer_graph());
  ASSERT_TRUE(plan) << plan.error().message;
  CacheHost made;
  MemoryCache& cache = made.cache;
  const Host host(&made.raw);
  for (const bool has_header : {false, true, true}) {
    if (has_header) gpu::KernelCache(host).put(pipeline_cache_key(facts), data_of(facts.properties, 256));
    if (!has_header && !cache.entries.empty()) cache.entries.begin()->second = "damaged";
    cache.get_count = 0;
    const auto device = Device::open(*instance, facts);
    ASSERT_TRUE(device) << device.error().message;
    for (int i = 0; i < 2; ++i) {
      const Status prepared = (*device)->prepare(*plan, host);
      ASSERT_TRUE(prepared) << prepared.error().message;
    }
    EXPECT_EQ(cache.get_count, 1);
    for (const auto& [key, value] : cache.entries) EXPECT_GT(value.size(), 32 + kPipelineHeaderNbytes);
  }
  EXPECT_TRUE(made.facts.empty());
  VkPhysicalDeviceProperties other = facts.properties;
  other.pipelineCacheUUID[0] ^= 1;
  gpu::KernelCache(host).put(pipeline_cache_key(facts), data_of(other, 256));
  const auto device = Device::open(*instance, facts);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_TRUE((*device)->prepare(*plan, host));
  EXPECT_EQ(made.facts, std::vector{kOtherDriver});
}

}  // namespace
}  // namespace etb::vulkan
