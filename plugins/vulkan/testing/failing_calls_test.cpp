// SPDX-License-Identifier: Apache-2.0
// Errors of the driver: a lost device, memory that is used up, and a kernel that it cannot compile.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "api/testing/fence_signal.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/vulkan/testing/failing_calls_layer.hpp"

namespace etb::gpu {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

GpuGraph product() {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({64, 64}));
  graph.outputs = {add_linear(graph, x, add_constant(graph, shape_of({64, 64}), "4096"))};
  return graph;
}

class FailingCalls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("VK_LAYER_PATH", ETB_LAYER_FOLDER, 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_ETBACKEND_failing_calls", 1);
  }
  void SetUp() override {
    run_ = std::make_unique<FloatRun>(product(), shape_of({64, 64}), "auto");
    if (!run_->run()) GTEST_SKIP() << tested_plugin().hint << ": " << run_->error();
    expected_ = run_->output();
    // The loader opened the layer.
    void* const library = dlopen(ETB_LAYER_FILE, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr) << "the Vulkan loader did not open the layer";
    fail_next_ =
        reinterpret_cast<decltype(&etb_fail_next_vulkan_call)>(dlsym(library, "etb_fail_next_vulkan_call"));
    is_pending_ = reinterpret_cast<decltype(&etb_is_vulkan_failure_pending)>(
        dlsym(library, "etb_is_vulkan_failure_pending"));
    device_count_ =
        reinterpret_cast<decltype(&etb_vulkan_device_count)>(dlsym(library, "etb_vulkan_device_count"));
    hide_features_ =
        reinterpret_cast<decltype(&etb_hide_vulkan_features)>(dlsym(library, "etb_hide_vulkan_features"));
    dlclose(library);
    ASSERT_NE(device_count_, nullptr);
    ASSERT_NE(hide_features_, nullptr);
    ASSERT_NE(fail_next_, nullptr);
    ASSERT_NE(is_pending_, nullptr);
  }
  void TearDown() override {
    if (fail_next_ != nullptr) fail_next_("", VK_SUCCESS);
    if (hide_features_ != nullptr) hide_features_(ETB_HIDE_NOTHING);
  }

  // A new delegate of the same plugin computes the right numbers, after a loss on a device that is opened again.
  void expect_recovery(bool is_lost) {
    EXPECT_FALSE(is_pending_()) << "no call failed";
    const uint32_t count = device_count_();
    ASSERT_TRUE(run_->reopen()) << run_->error();
    run_->clear_output();
    ASSERT_TRUE(run_->run()) << run_->error();
    EXPECT_EQ(run_->output(), expected_);
    EXPECT_EQ(device_count_(), count + (is_lost ? 1 : 0));
  }

  std::unique_ptr<FloatRun> run_;
  std::vector<float> expected_;
  decltype(&etb_fail_next_vulkan_call) fail_next_ = nullptr;
  decltype(&etb_is_vulkan_failure_pending) is_pending_ = nullptr;
  decltype(&etb_vulkan_device_count) device_count_ = nullptr;
  decltype(&etb_hide_vulkan_features) hide_features_ = nullptr;
};

TEST_F(FailingCalls, ADeviceLostBySubmitEndsTheRunAndIsOpenedAgain) {
  fail_next_("vkQueueSubmit", VK_ERROR_DEVICE_LOST);
  EXPECT_FALSE(run_->run());
  EXPECT_EQ(run_->status(), ETB_UNAVAILABLE);
  EXPECT_THAT(run_->error(), HasSubstr("vkQueueSubmit: VK_ERROR_DEVICE_LOST"));
  expect_recovery(true);
}

TEST_F(FailingCalls, ADeviceLostWhileItComputesEndsTheRunAndIsOpenedAgain) {
  fail_next_("vkWaitForFences", VK_ERROR_DEVICE_LOST);
  EXPECT_FALSE(run_->run());
  EXPECT_EQ(run_->status(), ETB_UNAVAILABLE);
  EXPECT_THAT(run_->error(), HasSubstr("vkWaitForFences: VK_ERROR_DEVICE_LOST"));
  expect_recovery(true);
}

TEST_F(FailingCalls, ALostDeviceSignalsTheFenceOfAnAsynchronousRun) {
  for (const char* function : {"vkQueueSubmit", "vkWaitForFences"}) {
    fail_next_(function, VK_ERROR_DEVICE_LOST);
    const auto call = run_->make_call();
    FenceSignal signal(call->args);
    const etb_status status = run_->start(call->args);
    // A run that is not started signals nothing.
    EXPECT_EQ(status != ETB_OK ? status : signal.wait(), ETB_UNAVAILABLE) << function;
    EXPECT_EQ(signal.count(), status == ETB_OK ? 1 : 0) << function;
    expect_recovery(true);
  }
}

// The host's call opens the device: a driver that fails is seen before there is a delegate.
TEST_F(FailingCalls, ADeviceThatTheDriverDoesNotOpenIsAnErrorOfOpen) {
  const etb_host host = {ETB_INIT_SIZE(etb_host),
                         0,
                         ETB_ABI_VERSION,
                         0,
                         "test",
                         "0",
                         "",
                         nullptr,
                         [](const etb_host*, const char*) -> const void* { return nullptr; },
                         nullptr};
  const etb_plugin_table* const table = tested_plugin().query(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* plugin = nullptr;
  ASSERT_EQ(table->init(&host, nullptr, 0, &plugin, &error), ETB_OK) << error.text;
  std::array<uint8_t, 16> uuid{};
  const etb_device_sink sink = {
      ETB_INIT_SIZE(etb_device_sink), 0, &uuid, [](void* ctx, const etb_device_info* info) -> etb_status {
        std::copy_n(info->uuid, 16, static_cast<std::array<uint8_t, 16>*>(ctx)->begin());
        return ETB_OK;
      }};
  ASSERT_EQ(table->device->enumerate(plugin, &sink, &error), ETB_OK);
  etb_device* device = nullptr;
  fail_next_("vkCreateDevice", VK_ERROR_INITIALIZATION_FAILED);
  EXPECT_EQ(table->device->open(plugin, uuid.data(), nullptr, 0, &device, &error), ETB_UNAVAILABLE);
  EXPECT_THAT(error.text, HasSubstr("vkCreateDevice: VK_ERROR_INITIALIZATION_FAILED"));
  EXPECT_EQ(device, nullptr);
  ASSERT_EQ(table->device->open(plugin, uuid.data(), nullptr, 0, &device, &error), ETB_OK) << error.text;
  EXPECT_EQ(table->device->close(device, &error), ETB_OK) << error.text;
  EXPECT_EQ(table->deinit(plugin, &error), ETB_OK) << error.text;
}

TEST_F(FailingCalls, MemoryThatIsUsedUpIsAnErrorOfCreate) {
  fail_next_("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_FALSE(run_->reopen());
  EXPECT_EQ(run_->status(), ETB_OUT_OF_MEMORY);
  EXPECT_THAT(run_->error(), HasSubstr("vkAllocateMemory: VK_ERROR_OUT_OF_DEVICE_MEMORY"));
  expect_recovery(false);
}

TEST_F(FailingCalls, AKernelThatIsNotCompiledIsNamedWithItsNodeAndDevice) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({3, 5}));
  graph.outputs = {add_node(graph, Operator::kSoftmax, {x}, {1, 0})};
  fail_next_("vkCreateComputePipelines", VK_ERROR_OUT_OF_DEVICE_MEMORY);
  FloatRun softmax(graph, shape_of({3, 5}), "auto");
  EXPECT_FALSE(softmax.is_ready());
  EXPECT_EQ(softmax.status(), ETB_OUT_OF_MEMORY);
  EXPECT_THAT(softmax.error(), MatchesRegex("Softmax #1: kernel Softmax on '.+': vkCreateComputePipelines: "
                                            "VK_ERROR_OUT_OF_DEVICE_MEMORY.*"));
  expect_recovery(false);
  ASSERT_TRUE(softmax.reopen()) << softmax.error();
  EXPECT_TRUE(softmax.run()) << softmax.error();
}

// As SwiftShader has none.
TEST_F(FailingCalls, WithoutNumbersOf16BitsFloat16IsWideOrRejected) {
  const Shape shape = shape_of({50, 70});
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape);
  graph.outputs = {add_unary(graph, UnaryFunction::kExp, x)};
  for (GpuValue& value : graph.values) value.host = HostNumbers::kHalves;
  const auto run_with = [&](const char* float16) {
    return std::make_unique<FloatRun>(graph, shape, "auto", "on", "off", &FloatRun::kHost, float16);
  };
  const auto storage = run_with("storage"), wide = run_with("wide");
  ASSERT_TRUE(storage->run()) << storage->error();
  ASSERT_TRUE(wide->run()) << wide->error();
  EXPECT_LT(storage->context_bytes(), wide->context_bytes());
  hide_features_(ETB_HIDE_16BIT_STORAGE);
  const auto rejected = run_with("storage"), automatic = run_with("auto");
  EXPECT_FALSE(rejected->is_ready());
  EXPECT_EQ(rejected->status(), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(rejected->error(),
              MatchesRegex("float16: storage, but kernels of '.+' cannot read numbers of 16 bits"
                           "\nhint: set the option float16 to auto"));
  ASSERT_TRUE(automatic->run()) << automatic->error();
  EXPECT_EQ(automatic->context_bytes(), wide->context_bytes());
  EXPECT_EQ(automatic->output(), wide->output());
}

// A device that computes in float16, without promises about it, has storage.
TEST_F(FailingCalls, WithoutFloat16OrItsRoundingArithmeticIsStorage) {
  const Shape shape = shape_of({50, 70});
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape);
  graph.outputs = {add_binary(graph, BinaryFunction::kMul, x, x)};
  for (GpuValue& value : graph.values) value.host = HostNumbers::kHalves;
  const auto run_with = [&](const char* float16) {
    return std::make_unique<FloatRun>(graph, shape, "auto", "on", "off", &FloatRun::kHost, float16);
  };
  const auto before = run_with("arithmetic");
  if (!before->run()) GTEST_SKIP() << before->error();
  for (const uint32_t features : {ETB_HIDE_FLOAT16, ETB_HIDE_ROUNDING}) {
    hide_features_(features);
    const auto arithmetic = run_with("arithmetic");
    ASSERT_TRUE(arithmetic->run()) << arithmetic->error();
    EXPECT_EQ(arithmetic->output(), before->output());
  }
  hide_features_(ETB_HIDE_16BIT_STORAGE);
  const auto none = run_with("arithmetic");
  EXPECT_FALSE(none->is_ready());
  EXPECT_EQ(none->status(), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(none->error(), HasSubstr("cannot read numbers of 16 bits"));
  EXPECT_THAT(none->error(), HasSubstr("hint: set the option float16 to auto"));
}

}  // namespace
}  // namespace etb::gpu
