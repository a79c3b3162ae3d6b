// SPDX-License-Identifier: Apache-2.0
// Modules on one program share its weights in the memory of a Vulkan device. A layer of the Vulkan loader counts the memory that
// the plugin allocates.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "api/testing/program_builder.hpp"
#include "etb/static_plugins.h"
#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/vulkan/testing/failing_calls_layer.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(vulkan);
}

namespace etb::gpu {
namespace {

constexpr uint32_t kSize = 1024;
constexpr uint64_t kWeightNbytes = uint64_t{kSize} * kSize * sizeof(float);
constexpr char kBackend[] = "EtbVulkanBackend";

const etb_static_plugin kPlugins[] = {
    {ETB_INIT_SIZE(etb_static_plugin), 0, &etb_plugin_query_vulkan, kBackend}};

float weight(uint32_t row, uint32_t column) {
  return static_cast<float>(static_cast<int>((row * 7 + column * 3) % 11) - 5);
}

// y = x times the transposed weights, for x of [1, kSize].
std::vector<std::byte> make_program() {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, kSize}));
  graph.outputs = {add_linear(graph, x, add_constant(graph, shape_of({kSize, kSize}), "w"))};
  const std::vector<std::byte> payload = write_payload(graph);
  std::vector<float> weights(size_t{kSize} * kSize);
  for (uint32_t row = 0; row < kSize; ++row)
    for (uint32_t column = 0; column < kSize; ++column) weights[row * kSize + column] = weight(row, column);
  format::MethodSpec method;
  for (const uint64_t offset : {uint64_t{0}, uint64_t{kSize} * sizeof(float)}) {
    format::TensorSpec tensor;
    tensor.sizes = {1, static_cast<int32_t>(kSize)};
    tensor.dim_order = {0, 1};
    tensor.memory_id = 1;
    tensor.memory_offset = offset;
    method.values.emplace_back(tensor);
  }
  method.inputs = {0};
  method.outputs = {1};
  method.delegates = {{kBackend, 1, 0, {}}};
  method.instructions = {{2, 0, 0, {0, 1}}};
  method.arena_sizes = {0, 2 * kSize * sizeof(float)};
  format::ProgramSpec program;
  program.methods = {method};
  program.segments = {{reinterpret_cast<const char*>(payload.data()), payload.size()},
                      {reinterpret_cast<const char*>(weights.data()), kWeightNbytes}};
  program.named_data = {{"w", 1}};
  return format::build_program(program);
}

class SharedWeights : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("VK_LAYER_PATH", ETB_LAYER_FOLDER, 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_ETBACKEND_failing_calls", 1);
  }

  static host::RegistryOptions linked_only() {
    host::RegistryOptions options;
    options.environment = [](const char*) { return std::optional<std::string>(); };
    options.admin_path.clear();
    options.static_plugins = kPlugins;
    return options;
  }

  // Bytes that the process has allocated on devices. Zero if the loader did not open the layer.
  static uint64_t allocated_bytes() {
    void* const library = dlopen(ETB_LAYER_FILE, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return 0;
    const auto count =
        reinterpret_cast<decltype(&etb_vulkan_allocated_bytes)>(dlsym(library, "etb_vulkan_allocated_bytes"));
    dlclose(library);
    return count == nullptr ? 0 : count();
  }

  // Runs on a vector with one element that is not zero, so that the result is a column of the weights.
  static void expect_right(host::Module& module, uint32_t column) {
    const int64_t sizes[] = {1, kSize};
    std::vector<float> x(kSize);
    x[column] = 2;
    host::OwnedTensor input = host::OwnedTensor::make<float>(sizes, std::span<const float>(x));
    const auto outputs = module.forward({input.value()});
    ASSERT_TRUE(outputs) << outputs.error().message;
    const auto* const y = (*outputs)[0].tensor().data_as<float>();
    for (uint32_t row = 0; row < kSize; ++row) ASSERT_NEAR(y[row], 2 * weight(row, column), 1e-4) << row;
  }

  const std::vector<std::byte> bytes_ = make_program();
  host::Registry registry_{linked_only()};
  host::PluginDelegates delegates_{registry_};
};

TEST_F(SharedWeights, StayOnceOnTheDeviceForAllModules) {
  constexpr uint32_t kModules = 4;
  host::ModuleOptions options;
  options.delegates = &delegates_;
  std::vector<host::Module> modules;
  uint64_t before = 0, of_others = 0;
  for (uint32_t i = 0; i < kModules; ++i) {
    auto made = i == 0 ? host::Module::from_bytes(bytes_, options)
                       : host::Module::from_program(modules[0].program(), options);
    ASSERT_TRUE(made) << made.error().message;
    const Status loaded = made->load_method("forward");
    if (!loaded && loaded.error().code == Code::UNAVAILABLE) GTEST_SKIP() << loaded.error().message;
    ASSERT_TRUE(loaded) << loaded.error().message;
    modules.push_back(*std::move(made));
    const uint64_t now = allocated_bytes();
    if (i == 0) {
      ASSERT_GE(now, kWeightNbytes) << "the layer counts the weights";
    } else {
      of_others += now - before;
    }
    before = now;
  }
  EXPECT_LT(of_others, kWeightNbytes / 4) << "other modules allocate contexts only";
  const auto holdings = delegates_.holdings();
  ASSERT_EQ(holdings.size(), 1u);
  EXPECT_GE(holdings[0].resident_bytes, kWeightNbytes);
  EXPECT_LT(holdings[0].resident_bytes, 2 * kWeightNbytes);
  RecordProperty("bytes_of_first_module", std::to_string(before - of_others));
  RecordProperty("bytes_of_other_modules", std::to_string(of_others));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kModules; ++i)
    threads.emplace_back([&, i] {
      for (uint32_t run = 0; run < 10; ++run) expect_right(modules[i], (i * 100 + run) % kSize);
    });
  for (std::thread& thread : threads) thread.join();
  modules.erase(modules.begin());
  expect_right(modules[0], 5);
}

}  // namespace
}  // namespace etb::gpu
