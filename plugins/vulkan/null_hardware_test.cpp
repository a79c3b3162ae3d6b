// SPDX-License-Identifier: Apache-2.0
// Compiles kernels by the compiler of a GPU (testing/null_hardware.hpp). Skipped where the driver is absent.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plugins/gpu/testing/cache_host.hpp"
#include "plugins/vulkan/kernel_code.hpp"
#include "plugins/vulkan/testing/null_hardware.hpp"

namespace etb::vulkan {
namespace {

using gpu::CacheHost;
using gpu::ExecutionPlan;

// Bits of the buffers that have float16, for each variant of a kernel: none, the first and the last. Empty for kernels that
// the device does not use.
std::vector<uint32_t> halves_of(gpu::Kernel kernel) {
  const gpu::KernelFamily family = gpu::family_of(kernel);
  if (family != gpu::KernelFamily::kRegisters && family != gpu::KernelFamily::kGroups) return {};
  if (kernel_code(kernel, true).empty()) return {0};
  return {0, 1, 1u << (gpu::kKernelBindings[gpu::index_of(kernel)] - 1)};
}

TEST(VulkanNullHardware, CompilesEveryKernel) {
  const auto hardware = find_null_hardware();
  if (!hardware) GTEST_SKIP() << hardware.error().message;
  const auto device = hardware->open();
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->family(), gpu::KernelFamily::kGroups);
  uint32_t count = 0;
  for (uint32_t i = 0; i < gpu::kKernelCount; ++i)
    for (const uint32_t halves : halves_of(static_cast<gpu::Kernel>(i))) {
      SCOPED_TRACE(std::string(gpu::kKernelNames[i]) + ", float16 in buffers " + std::to_string(halves));
      ExecutionPlan plan;
      add_kernel(plan, static_cast<gpu::Kernel>(i), halves);
      const Status prepared = (*device)->prepare(plan, Host());
      ASSERT_TRUE(prepared) << prepared.error().message;
      ++count;
    }
  EXPECT_GT(count, 300u);
}

// A driver with a pipeline cache: what the first load stored holds all pipelines of the second.
TEST(VulkanNullHardware, StoresEveryPipelineOnce) {
  const auto hardware = find_null_hardware();
  if (!hardware) GTEST_SKIP() << hardware.error().message;
  CacheHost made;
  const Host host(&made.raw);
  ExecutionPlan plan;
  for (const gpu::Kernel each : {gpu::Kernel::kGroupMatmul, gpu::Kernel::kSoftmax, gpu::Kernel::kChain})
    add_kernel(plan, each, 0);
  for (int load = 0; load < 2; ++load) {
    const auto device = hardware->open();
    ASSERT_TRUE(device) << device.error().message;
    ASSERT_TRUE((*device)->prepare(plan, host));
    ASSERT_EQ(made.cache.entries.size(), 1u);
    EXPECT_GT(made.cache.entries.begin()->second.size(), 4096u);
    EXPECT_EQ(made.cache.found_count, load);
    EXPECT_EQ(made.cache.put_count, 1) << "the second load compiled a kernel again";
  }
  EXPECT_TRUE(made.facts.empty());
}

}  // namespace
}  // namespace etb::vulkan
