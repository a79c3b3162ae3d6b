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

// HALVES of kernel.glsl, for each variant of a kernel: float32, float16 in all buffers, and arithmetic in float16 (conversions
// only, and all of it). Empty for kernels that the device does not use.
std::vector<uint32_t> halves_of(gpu::Kernel kernel) {
  const gpu::KernelFamily family = gpu::family_of(kernel);
  if (family != gpu::KernelFamily::kRegisters && family != gpu::KernelFamily::kGroups) return {};
  if (kernel_code(kernel, 1).empty()) return {0};
  const uint32_t all = (1u << gpu::kKernelBindings[gpu::index_of(kernel)]) - 1;
  return {0, all, all | gpu::kArithmeticBit, all | gpu::kArithmeticBit | gpu::kInHalfBit};
}

class VulkanCompiler : public testing::TestWithParam<uint32_t> {};

// With RADV_DEBUG=shaderstats the driver writes what it made, in the order of the variants (compiled_table.sh).
TEST_P(VulkanCompiler, CompilesKernel) {
  const auto hardware = find_null_hardware();
  if (!hardware) GTEST_SKIP() << hardware.error().message;
  const auto device = hardware->open();
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->family(), gpu::KernelFamily::kGroups);
  for (const uint32_t halves : halves_of(static_cast<gpu::Kernel>(GetParam()))) {
    ExecutionPlan plan;
    add_kernel(plan, static_cast<gpu::Kernel>(GetParam()), halves);
    const Status prepared = (*device)->prepare(plan, Host());
    EXPECT_TRUE(prepared) << prepared.error().message << ", halves " << halves;
  }
}
INSTANTIATE_TEST_SUITE_P(Every, VulkanCompiler, testing::Range(0u, gpu::kKernelCount),
                         [](const auto& test) { return std::string(gpu::kKernelNames[test.param]); });

// So float16=auto is arithmetic there (delegate.hpp).
TEST(VulkanNullHardware, ComputesInFloat16WithTheSameBits) {
  const auto hardware = find_null_hardware();
  if (!hardware) GTEST_SKIP() << hardware.error().message;
  const DeviceFacts& facts = hardware->facts;
  EXPECT_TRUE(facts.has_16bit_storage && facts.has_float16 && facts.rounds_halves);
  EXPECT_TRUE(facts.keeps_subnormal_halves);
  EXPECT_FALSE(facts.is_cpu);
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
