// SPDX-License-Identifier: Apache-2.0
// A program with linked plugins and no dynamic loader gets the same answers from its registry as one that loads them.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <string>
#include <vector>

#include "etb/cpp/module.hpp"
#include "etb/cpp/registry.hpp"
#include "etb_static_plugins.h"

namespace {

std::atomic<int> loaded_count = 0;

}  // namespace

// Comes before the C library's, so that the tests see each use of the loader by libetbackend.so.
extern "C" __attribute__((visibility("default"))) void* dlopen(const char* path, int mode) {
  ++loaded_count;
  static const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(path, mode);
}

namespace etb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Registry static_registry() {
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = ETB_REGISTRY_ONLY_PATHS;
  options.static_plugins = etb_static_plugins;
  options.static_plugin_count = std::size(etb_static_plugins);
  return Registry(options);
}

Registry loading_registry() {
  static const char* const folder = ETB_PLUGIN_DIR;
  etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
  options.flags = ETB_REGISTRY_ONLY_PATHS;
  options.search_paths = &folder;
  options.search_path_count = 1;
  return Registry(options);
}

// Results of one model in a registry: its plugins by delegate id, and its outputs.
struct Answers {
  std::vector<std::pair<std::string, std::string>> decisions;
  std::vector<std::vector<float>> outputs;
};

Answers run(Registry& registry, const std::string& model) {
  ModuleOptions options;
  options.registry = &registry;
  Module module(std::string(ETB_MODELS "/") + model, options);
  std::vector<Value> inputs;
  for (const auto& spec : module.inputs()) {
    int64_t count = 1;
    for (const int64_t size : spec.sizes) count *= size;
    std::vector<float> data;
    for (int64_t i = 0; i < count; ++i) data.push_back(static_cast<float>(i * 7919 % 1000) / 500 - 1);
    inputs.emplace_back(std::span<const int64_t>(spec.sizes), std::span<const float>(data));
  }
  Answers answers;
  for (const Value& output : module.execute("forward", inputs)) {
    const auto data = output.data<float>();
    answers.outputs.emplace_back(data.begin(), data.end());
  }
  answers.decisions = module.decisions();
  return answers;
}

TEST(StaticPlugins, AreListed) {
  const Registry registry = static_registry();
  std::vector<std::string> listed;
  for (const etb_plugin_info& info : registry.plugins()) {
    EXPECT_STREQ(info.tier, "static");
    EXPECT_EQ(info.is_usable, 1U) << info.problem;
    ASSERT_EQ(info.provides_count, 1U);
    listed.emplace_back(info.provides[0]);
  }
  EXPECT_THAT(listed, ElementsAre("MyNpuBackend", "MyNpuCBackend", "EtbDspStubBackend"));
}

TEST(StaticPlugins, AreResolvedByDelegateId) {
  const Registry registry = static_registry();
  for (const etb_static_plugin& plugin : etb_static_plugins)
    EXPECT_THAT(registry.explain(plugin.provides), HasSubstr("\"tier\": \"static\""));
  EXPECT_EQ(registry.devices("EtbDspStubBackend").at(0).name, "simulated fixed-point DSP");
  EXPECT_THROW((void)registry.devices("NoSuchBackend"), Failure);
}

TEST(StaticPlugins, RunModelsAsLoadedPluginsDoWithoutTheLoader) {
  for (const char* model : {"net_q8.pte", "add.pte", "add_c.pte"}) {
    Registry linked = static_registry();
    loaded_count = 0;
    const Answers found = run(linked, model);
    EXPECT_EQ(loaded_count, 0) << model;
    Registry loading = loading_registry();
    const Answers expected = run(loading, model);
    EXPECT_GT(loaded_count, 0) << model << ": the test must see the loader";
    ASSERT_FALSE(found.decisions.empty()) << model;
    EXPECT_EQ(found.decisions, expected.decisions) << model;
    ASSERT_FALSE(found.outputs.empty()) << model;
    EXPECT_EQ(found.outputs, expected.outputs) << model;
  }
}

}  // namespace
}  // namespace etb
