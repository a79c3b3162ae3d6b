// SPDX-License-Identifier: Apache-2.0
// Options of the plugins for GPUs, and of the DSP plugin, that a module changes after it was opened. Skipped where a plugin has
// no device.
#include <gmock/gmock.h>

#include "host/delegates/plugin_delegates.hpp"
#include "tests/runtime/recorded_calls.hpp"

namespace etb::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

host::RegistryOptions build_tree() {
  host::RegistryOptions options;
  options.application_paths = {ETB_PLUGIN_DIR};
  options.admin_path = "";
  options.environment = {};
  return options;
}

std::vector<float> floats_of(const host::EValue& value) {
  const Array array = to_row_major(value.tensor());
  std::vector<float> out(array.bytes.size() / sizeof(float));
  std::memcpy(out.data(), array.bytes.data(), out.size() * sizeof(float));
  return out;
}

class GpuOptions : public testing::TestWithParam<std::string> {};

TEST_P(GpuOptions, OfADelegateChangeWhileItsMethodIsNotLoaded) {
  host::Registry registry(build_tree());
  host::PluginDelegates delegates(registry);
  delegates.pin("VulkanBackend", "org.etbackend." + GetParam());
  host::ModuleOptions options;
  options.delegates = &delegates;
  auto module =
      host::Module::open(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/vulkan/autoencoder.pte", options);
  ASSERT_TRUE(module) << module.error().message;
  const Status loaded = module->load_method("forward");
  if (!loaded && loaded.error().code == Code::UNAVAILABLE) GTEST_SKIP() << loaded.error().message;
  ASSERT_TRUE(loaded) << loaded.error().message;
  MethodInputs inputs(*module->method_meta("forward"));
  ASSERT_TRUE(inputs.fill_random(7));
  const auto run = [&] {
    const auto outputs = module->execute("forward", inputs.values());
    EXPECT_TRUE(outputs) << outputs.error().message;
    return outputs ? floats_of((*outputs)[0]) : std::vector<float>();
  };
  const auto change = [&](const char* key, const char* text) {
    return delegates.change_option("VulkanBackend", key, text);
  };
  const std::vector<float> before = run();
  const Status fixed = change("kernels", "registers");
  ASSERT_FALSE(fixed);
  EXPECT_EQ(fixed.error().code, Code::INVALID_STATE);
  EXPECT_THAT(fixed.error().message, AllOf(HasSubstr("option 'kernels' is fixed when a delegate is made"),
                                           HasSubstr("hint: unload the methods")));
  module->unload_method("forward");
  const Status wrong = change("kernels", "slow");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::INVALID_ARGUMENT);
  EXPECT_THAT(wrong.error().message, HasSubstr("option 'kernels': 'slow', expected one of 'auto', "));
  EXPECT_EQ(change("kernel", "auto").error().code, Code::INVALID_ARGUMENT);
  const Status changed = change("kernels", "registers");
  ASSERT_TRUE(changed) << changed.error().message;
  const std::vector<float> after = run();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-4) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Plugins, GpuOptions, testing::Values(ETB_GPU_PLUGINS),
                         [](const auto& test) { return test.param; });

TEST(DspOptions, OfThePluginBelongToTheRegistry) {
  if (!fs::exists(fs::path(ETB_PLUGIN_DIR) / "dsp_stub.so"))
    GTEST_SKIP() << "built without the dsp_stub plugin";
  host::Registry registry(build_tree());
  host::PluginDelegates delegates(registry);
  const Status changed = delegates.change_option("EtbDspStubBackend", "tcm_kib", "64");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Code::INVALID_ARGUMENT);
  EXPECT_THAT(changed.error().message, AllOf(HasSubstr("delegate 'EtbDspStubBackend'"),
                                             HasSubstr("option 'tcm_kib' belongs to the plugin")));
}

}  // namespace
}  // namespace etb::tools
