// SPDX-License-Identifier: Apache-2.0
// Tests of what only the OpenCL plugin has: identities of devices, errors, and programs in the host's cache. Skipped where
// there is no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "plugins/gpu/testing/cache_host.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/opencl/device.hpp"
#include "plugins/opencl/driver_scope.hpp"
#include "plugins/opencl/kernel_source.hpp"

namespace etb::opencl {
namespace {

using testing::HasSubstr;

// Before a test starts the driver: PoCL then has two devices.
const bool kHasTwoDevices = ::setenv("POCL_DEVICES", "pthread basic", 0) == 0;

class OpenclDevice : public testing::Test {
 protected:
  void SetUp() override {
    auto instance = Instance::make();
    if (!instance) GTEST_SKIP() << instance.error().message;
    instance_ = *instance;
    std::vector<std::string> reasons;
    auto devices = instance_->find_devices(reasons);
    ASSERT_TRUE(devices) << devices.error().message;
    if (devices->empty()) GTEST_SKIP() << "no OpenCL device: install pocl-opencl-icd";
    devices_ = *devices;
  }

  // Returns the first device without programs: another device of the process would have those of earlier tests.
  Result<std::shared_ptr<Device>> make() { return Device::make(instance_, devices_[0]); }
  Host host() const { return Host(&cache_host_.raw); }

  std::shared_ptr<Instance> instance_;
  std::vector<DeviceFacts> devices_;
  gpu::CacheHost cache_host_;
  gpu::MemoryCache& cache_ = cache_host_.cache;
};

// Drivers' compilers differ in the extensions that they take; clang's warnings are of the standard.
TEST(KernelSources, AreOpenClC12WithoutExtensions) {
  const std::string clang = ETB_CLANG;
  if (clang.empty()) GTEST_SKIP() << "no clang was found by the build";
  std::string failed;
  gpu::ChainCode chain;  // a step of each width
  chain.steps = {(gpu::kBinaryCodes + 1) | gpu::kInHalfStepBit, 7 | 5 << 8};
  for (uint32_t i = 0; i < gpu::kKernelCount; ++i) {
    const auto kernel = static_cast<gpu::Kernel>(i);
    if (family_of(kernel) == gpu::KernelFamily::kTiles) continue;
    for (const uint32_t halves : {0u, 0x3fu, 0x3fu | gpu::kArithmeticBit | gpu::kInHalfBit}) {
      if (halves != 0 && family_of(kernel) == gpu::KernelFamily::kVectors) continue;
      const KernelSource source = kernel_source({kernel, chain, halves});
      const char* const extension = halves > 0x3fu ? " -Xclang -cl-ext=+cl_khr_fp16" : "";
      const std::string command =
          clang +
          " -x cl -cl-std=CL1.2 -Xclang -finclude-default-header -Xclang -fdeclare-opencl-builtins "
          "-target nvptx64 -fsyntax-only -Wpedantic -Wdouble-promotion -Wno-keyword-macro -Werror" +
          extension + source.macros + " -";
      FILE* const compiler = ::popen(command.c_str(), "w");
      ASSERT_NE(compiler, nullptr);
      for (const std::string_view text : source.texts)
        (void)std::fwrite(text.data(), 1, text.size(), compiler);
      if (::pclose(compiler) != 0)
        failed += std::string(" ") + gpu::kKernelNames[i] + "/" + std::to_string(halves);
    }
  }
  EXPECT_EQ(failed, "");
}

TEST_F(OpenclDevice, HasAUuidOfItsOwn) {
  ASSERT_TRUE(kHasTwoDevices);
  std::set<std::array<uint8_t, 16>> uuids;
  for (const DeviceFacts& facts : devices_) uuids.insert(facts.uuid);
  EXPECT_EQ(uuids.size(), devices_.size());
}

TEST_F(OpenclDevice, HasTheSameIdentityWhenItIsFoundAgain) {
  const auto again = Instance::make();
  ASSERT_TRUE(again);
  std::vector<std::string> reasons;
  const auto devices = (*again)->find_devices(reasons);
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), devices_.size());
  for (size_t i = 0; i < devices_.size(); ++i) {
    EXPECT_EQ((*devices)[i].uuid, devices_[i].uuid);
    EXPECT_EQ((*devices)[i].fingerprint, devices_[i].fingerprint);
    EXPECT_NE(devices_[i].uuid, (std::array<uint8_t, 16>{}));
  }
}

TEST_F(OpenclDevice, DoesNotMakeABufferThatTheDriverDoesNotAllow) {
  const auto device = make();
  ASSERT_TRUE(device) << device.error().message;
  const auto buffer = (*device)->make_buffer(devices_[0].max_range_bytes + 1);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Code::OUT_OF_MEMORY);
  EXPECT_THAT(buffer.error().message, HasSubstr("allows at most"));
}

TEST_F(OpenclDevice, KeepsProgramsInTheCacheOfTheHost) {
  const auto plan = gpu::make_execution_plan(gpu::layer_graph());
  ASSERT_TRUE(plan) << plan.error().message;
  std::set<gpu::Kernel> kernels;
  for (const gpu::Dispatch& dispatch : plan->dispatches) kernels.insert(dispatch.kernel);
  const size_t count = kernels.size();
  for (const int found : {0, static_cast<int>(count)}) {
    const auto device = make();
    ASSERT_TRUE(device) << device.error().message;
    const Status prepared = (*device)->prepare(*plan, host());
    ASSERT_TRUE(prepared) << prepared.error().message;
    EXPECT_EQ(cache_.entries.size(), count);
    EXPECT_EQ(cache_.found_count, found);
  }
}

TEST_F(OpenclDevice, CompilesAProgramAgainThatTheCacheDamaged) {
  const auto plan = gpu::make_execution_plan(gpu::layer_graph());
  ASSERT_TRUE(plan) << plan.error().message;
  for (int i = 0; i < 2; ++i) {
    const auto device = make();
    ASSERT_TRUE(device) << device.error().message;
    const Status prepared = (*device)->prepare(*plan, host());
    ASSERT_TRUE(prepared) << prepared.error().message;
    for (auto& [key, value] : cache_.entries) {
      EXPECT_NE(value, "damaged");
      value = "damaged";
    }
  }
}

// Each kernel of the list is compiled by the driver, also those that no network of the tests needs.
TEST_F(OpenclDevice, CompilesEveryKernel) {
  const auto device = make();
  ASSERT_TRUE(device) << device.error().message;
  for (uint32_t i = 0; i < gpu::kKernelCount; ++i) {
    const auto kernel = static_cast<gpu::Kernel>(i);
    if (family_of(kernel) == gpu::KernelFamily::kTiles) continue;
    const auto made = (*device)->make_kernel({kernel});
    EXPECT_TRUE(made) << made.error().message;
  }
}

TEST(OpenclDriverScope, SetsBackWhatADriverChanges) {
  constexpr int kSignal = SIGUSR2;
  struct sigaction before {
  }, after{};
  ASSERT_EQ(sigaction(kSignal, nullptr, &before), 0);
  ASSERT_EQ(setenv("ETB_TEST_CHANGED", "old", 1), 0);
  ASSERT_EQ(setenv("ETB_TEST_REMOVED", "here", 1), 0);
  {
    const DriverScope scope;
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    ASSERT_EQ(sigaction(kSignal, &ignored, nullptr), 0);
    ASSERT_EQ(setenv("ETB_TEST_CHANGED", "new", 1), 0);
    ASSERT_EQ(setenv("ETB_TEST_ADDED", "new", 1), 0);
    ASSERT_EQ(unsetenv("ETB_TEST_REMOVED"), 0);
  }
  ASSERT_EQ(sigaction(kSignal, nullptr, &after), 0);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_STREQ(getenv("ETB_TEST_CHANGED"), "old");
  EXPECT_STREQ(getenv("ETB_TEST_REMOVED"), "here");
  EXPECT_EQ(getenv("ETB_TEST_ADDED"), nullptr);
}

}  // namespace
}  // namespace etb::opencl
