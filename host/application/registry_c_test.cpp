// SPDX-License-Identifier: Apache-2.0
// The registry of the C API, with the plugins of the build tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "etb/etbackend.h"
#include "host/testing/toy_application.hpp"

namespace etb::host {
namespace {

using testing::Contains;
using testing::HasSubstr;

class RegistryC : public testing::Test {
 protected:
  ~RegistryC() override { etb_registry_close(registry_); }

  etb_status open(const char* folder) {
    etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
    options.flags = ETB_REGISTRY_ONLY_PATHS;
    options.search_paths = &folder;
    options.search_path_count = 1;
    options.thread_count = 1;
    return etb_registry_open(&options, &registry_, &error_);
  }

  std::string explain(const char* name) {
    std::string text;
    etb_text_sink sink{ETB_INIT_SIZE(etb_text_sink), 0, &text, [](void* ctx, const char* put) -> etb_status {
                         *static_cast<std::string*>(ctx) += put;
                         return ETB_OK;
                       }};
    EXPECT_EQ(etb_registry_explain(registry_, name, &sink, &error_), ETB_OK) << error_.text;
    return text;
  }

  etb_error error_ = ETB_ERROR_INIT;
  etb_registry* registry_ = nullptr;
};

TEST_F(RegistryC, ListsAndExplainsWithoutRunningPlugins) {
  ASSERT_EQ(open(ETB_PLUGIN_DIR), ETB_OK) << error_.text;
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < etb_registry_plugin_count(registry_); ++i) {
    etb_plugin_info info = ETB_PLUGIN_INFO_INIT;
    ASSERT_EQ(etb_registry_plugin(registry_, i, &info, &error_), ETB_OK) << error_.text;
    ids.emplace_back(info.id);
    if (ids.back() != "com.example.my-npu") continue;
    EXPECT_EQ(info.is_usable, 1U) << info.problem;
    ASSERT_EQ(info.provides_count, 1U);
    EXPECT_STREQ(info.provides[0], "MyNpuBackend");
    EXPECT_THAT(info.library_path, HasSubstr("my_npu.so"));
    EXPECT_STREQ(info.tier, "application");
  }
  EXPECT_THAT(ids, Contains("com.example.my-npu"));
  EXPECT_THAT(explain("MyNpuBackend"), HasSubstr("\"winner\": \"com.example.my-npu\""));
  EXPECT_THAT(explain("MyNpuBackent"), HasSubstr("MyNpuBackend"));
  etb_plugin_info info = ETB_PLUGIN_INFO_INIT;
  EXPECT_EQ(etb_registry_plugin(registry_, 1000, &info, &error_), ETB_INVALID_ARGUMENT);
}

TEST_F(RegistryC, ListsDevices) {
  ASSERT_EQ(open(ETB_PLUGIN_DIR), ETB_OK) << error_.text;
  std::vector<std::string> names;
  etb_device_sink sink{ETB_INIT_SIZE(etb_device_sink), 0, &names,
                       [](void* ctx, const etb_device_info* info) -> etb_status {
                         static_cast<std::vector<std::string>*>(ctx)->emplace_back(info->name);
                         return ETB_OK;
                       }};
  ASSERT_EQ(etb_registry_devices(registry_, "my_npu", &sink, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(names.size(), 1U);
  sink.put = [](void*, const etb_device_info*) -> etb_status { return ETB_CANCELLED; };
  EXPECT_EQ(etb_registry_devices(registry_, "my_npu", &sink, &error_), ETB_CANCELLED);
  EXPECT_EQ(etb_registry_devices(registry_, "no_such_plugin", &sink, &error_), ETB_NOT_FOUND);
}

TEST_F(RegistryC, AChoiceIsPartOfTheExplanationAndReachesModules) {
  const etb_backend_choice choice = {ETB_INIT_SIZE(etb_backend_choice), 0, "ToyBackend", toy_plugin_id(),
                                     "toy"};
  etb_registry_options options = toy_registry_options();
  options.choices = &choice;
  options.choice_count = 1;
  ASSERT_EQ(etb_registry_open(&options, &registry_, &error_), ETB_OK) << error_.text;
  EXPECT_THAT(explain("ToyBackend"), HasSubstr("\"pinned_by\": \"application\""));
  const AlignedBytes program = toy_program();
  etb_module_options module_options = ETB_MODULE_OPTIONS_INIT;
  module_options.registry = registry_;
  etb_module* module = nullptr;
  ASSERT_EQ(etb_module_open_bytes(program.view(), &module_options, &module, &error_), ETB_OK) << error_.text;
  ASSERT_EQ(etb_module_load_method(module, nullptr, &error_), ETB_OK) << error_.text;
  etb_decision decision = ETB_DECISION_INIT;
  ASSERT_EQ(etb_module_decision(module, 0, &decision, &error_), ETB_OK) << error_.text;
  EXPECT_THAT(decision.json, HasSubstr("\"pinned_by\": \"application\""));
  etb_module_close(module);
  // A module's own choice replaces the registry's for the same id.
  const etb_backend_choice other = {ETB_INIT_SIZE(etb_backend_choice), 0, "ToyBackend", nullptr,
                                    "no such device"};
  module_options.choices = &other;
  module_options.choice_count = 1;
  ASSERT_EQ(etb_module_open_bytes(program.view(), &module_options, &module, &error_), ETB_OK) << error_.text;
  EXPECT_NE(etb_module_load_method(module, nullptr, &error_), ETB_OK);
  EXPECT_THAT(etb_last_error(), HasSubstr("no such device"));
  etb_module_close(module);
}

TEST_F(RegistryC, AnAliasIsAChoiceToo) {
  const etb_backend_choice choice = {ETB_INIT_SIZE(etb_backend_choice), 0, "MyNpuBackend", "my_npu", nullptr};
  const char* const folder = ETB_PLUGIN_DIR;
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = ETB_REGISTRY_ONLY_PATHS;
  options.search_paths = &folder;
  options.search_path_count = 1;
  options.choices = &choice;
  options.choice_count = 1;
  ASSERT_EQ(etb_registry_open(&options, &registry_, &error_), ETB_OK) << error_.text;
  EXPECT_THAT(explain("MyNpuBackend"), HasSubstr("\"pinned_by\": \"application\""));
}

// All modules of a registry count.
TEST_F(RegistryC, TheMemoryOfADeviceIsLimited) {
  if (!std::ifstream(ETB_PLUGIN_DIR "/xnnpack.so")) GTEST_SKIP() << "built without the xnnpack plugin";
  ASSERT_EQ(open(ETB_PLUGIN_DIR), ETB_OK) << error_.text;
  const std::string program = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/programs/xnnpack.pte";
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  options.registry = registry_;
  const auto load = [&](uint64_t max_bytes, etb_module** module) {
    options.max_device_bytes = max_bytes;
    const etb_status opened = etb_module_open(program.c_str(), &options, module, &error_);
    return opened == ETB_OK ? etb_module_load_method(*module, "forward", &error_) : opened;
  };
  etb_module* refused = nullptr;
  ASSERT_EQ(load(1, &refused), ETB_OUT_OF_RESOURCES);
  const std::string text = error_.text;
  EXPECT_THAT(
      text,
      HasSubstr("expected at most 1 (the limit max_device_bytes): 'XnnpackBackend' of method 'forward' "));
  const uint64_t needed = std::stoull(text.substr(text.find("need ") + 5));
  etb_module *first = nullptr, *second = nullptr;
  EXPECT_EQ(load(needed, &first), ETB_OK) << error_.text;
  EXPECT_EQ(load(2 * needed - 1, &second), ETB_OUT_OF_RESOURCES);
  etb_module_close(first);
  etb_module_close(second);
  EXPECT_EQ(load(2 * needed - 1, &second), ETB_OK) << error_.text;
  etb_module_close(second);
  etb_module_close(refused);
}

TEST_F(RegistryC, DisabledPluginsAreNotUsed) {
  const char* const folder = ETB_PLUGIN_DIR;
  const char* const disabled[] = {"com.example.*"};
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = ETB_REGISTRY_ONLY_PATHS;
  options.search_paths = &folder;
  options.search_path_count = 1;
  options.disabled = disabled;
  options.disabled_count = 1;
  ASSERT_EQ(etb_registry_open(&options, &registry_, &error_), ETB_OK) << error_.text;
  for (uint32_t i = 0; i < etb_registry_plugin_count(registry_); ++i) {
    etb_plugin_info info = ETB_PLUGIN_INFO_INIT;
    ASSERT_EQ(etb_registry_plugin(registry_, i, &info, &error_), ETB_OK) << error_.text;
    if (std::string(info.id) != "com.example.my-npu") continue;
    EXPECT_EQ(info.is_usable, 0U);
    EXPECT_STREQ(info.problem_reason, "policy.filtered");
    EXPECT_THAT(info.problem, HasSubstr("disabled by the application: 'com.example.*'"));
  }
  EXPECT_THAT(explain("MyNpuBackend"), HasSubstr("\"winner\": null"));
}

TEST_F(RegistryC, OlderCallersHaveNoChoices) {
  etb_registry_options options = toy_registry_options();
  options.struct_size = ETB_SIZE_THROUGH(etb_registry_options, reserved);
  options.choice_count = 7;  // after the end of the caller's struct
  EXPECT_EQ(etb_registry_open(&options, &registry_, &error_), ETB_OK) << error_.text;
}

TEST_F(RegistryC, RefusesWrongFolders) {
  EXPECT_EQ(open("relative"), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(open("/nonexistent"), ETB_NOT_FOUND);
  EXPECT_THAT(error_.text, HasSubstr("/nonexistent"));
}

TEST_F(RegistryC, ConvertsSettingsOfThePlugin) {
  const etb_setting gain = {ETB_INIT_SIZE(etb_setting), 0, toy_plugin_id(), "gain", "much"};
  etb_registry_options options = toy_registry_options();
  options.settings = &gain;
  options.setting_count = 1;
  ASSERT_EQ(etb_registry_open(&options, &registry_, &error_), ETB_OK) << error_.text;
  etb_device_sink sink{ETB_INIT_SIZE(etb_device_sink), 0, nullptr,
                       [](void*, const etb_device_info*) -> etb_status { return ETB_OK; }};
  EXPECT_NE(etb_registry_devices(registry_, "ToyBackend", &sink, &error_), ETB_OK);
  EXPECT_THAT(etb_last_error(), HasSubstr("gain"));
}

}  // namespace
}  // namespace etb::host
