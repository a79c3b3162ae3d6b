// SPDX-License-Identifier: Apache-2.0
// Two methods of a language model with one key-value cache, on a plugin for GPUs: the cache stays on the device, with the results
// of a cache in memory of the host.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "host/delegates/plugin_delegates.hpp"
#include "host/module/module.hpp"
#include "host/services/accounted_allocator.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

// Caches of the model: four of [1, 2, 8, 4] floats.
constexpr uint64_t kCacheCount = 4, kCacheNbytes = 256;
constexpr int64_t kPositions = 8, kSizes[] = {1, 3};
constexpr std::span<const int64_t> kTokens = kSizes;

// A module on shared arenas, and what its runs pass through memory of the host.
class TwoMethods {
 public:
  TwoMethods(host::Registry& registry, const std::string& program, const std::string& device,
             const etb_alloc_service* arenas, bool is_async = false)
      : delegates_(registry) {
    delegates_.set_device("", device);
    if (is_async) delegates_.allow_async_runs();
    host::ModuleOptions options;
    options.delegates = &delegates_;
    options.shares_arenas = true;
    options.async = is_async;
    // The library keeps no state on a device if the application has the memory of arenas.
    if (arenas != nullptr) options.arena_allocators.assign(8, arenas);
    auto opened = host::Module::open(program, options);
    EXPECT_TRUE(opened) << opened.error().message;
    module_.emplace(*std::move(opened));
    for (const char* method : {"prefill", "decode"}) {
      const Status loaded = module_->load_method(method);
      EXPECT_TRUE(loaded) << loaded.error().message;
    }
  }
  std::vector<float> run(const std::string& method, std::vector<int64_t> ids,
                         std::vector<int64_t> positions) {
    auto tokens = host::OwnedTensor::make<int64_t>(kTokens, ids);
    auto places = host::OwnedTensor::make<int64_t>(kTokens.subspan(1), positions);
    const host::EValue inputs[] = {tokens.value(), places.value()};
    const uint64_t before = delegates_.transfers().host_bytes;
    const auto outputs = module_->execute(method, inputs);
    host_bytes_ = delegates_.transfers().host_bytes - before;
    EXPECT_TRUE(outputs) << outputs.error().message;
    if (!outputs) return {};
    const host::Tensor& tensor = (*outputs)[0].tensor();
    std::vector<float> out(tensor.nbytes() / sizeof(float));
    std::memcpy(out.data(), tensor.data(), tensor.nbytes());
    return out;
  }
  uint64_t host_bytes() const { return host_bytes_; }  // of the latest run

 private:
  host::PluginDelegates delegates_;
  std::optional<host::Module> module_;
  uint64_t host_bytes_ = 0;
};

class SharedState : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv("POCL_DEVICES", "pthread basic", 0);
    if (!fs::exists(fs::path(ETB_PLUGIN_DIR) / (std::string(GetParam()) + ".so")))
      GTEST_SKIP() << "built without the plugin";
    host::RegistryOptions options;
    options.application_paths = {ETB_PLUGIN_DIR};
    options.admin_path = "";
    options.environment = {};
    registry_.emplace(options);
    const auto opened = registry_->open(GetParam());
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(opened->plugin->each_device([&](const etb_device_info& info) {
      if (device_.empty()) device_ = info.name;
    }));
    if (device_.empty()) GTEST_SKIP() << "no device";
    program_ = testing::TempDir() + "shared_state_" + GetParam() + ".pte";
    const std::string model = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/llama.pt2";
    const CliRun made = cli({"--plugin-path", ETB_PLUGIN_DIR, "compile", "--method", "prefill=" + model,
                             "--method", "decode=" + model, "-b", GetParam(), "-o", program_});
    ASSERT_EQ(made.exit, 0) << made.err;
  }
  void TearDown() override {
    registry_.reset();
    fs::remove(program_);
  }

  std::optional<host::Registry> registry_;
  std::string device_, program_;
};

TEST_P(SharedState, StaysOnTheDeviceWithEqualResults) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const host::AccountedAllocator arenas;
  TwoMethods kept(*registry_, program_, device_, nullptr),
      copied(*registry_, program_, device_, arenas.service()),
      overlapped(*registry_, program_, device_, nullptr, true);
  for (int step = 0; step < 40; ++step) {
    const char* const method = random() % 2 == 0 ? "prefill" : "decode";
    std::vector<int64_t> ids, positions;
    const auto at = static_cast<int64_t>(random() % kPositions);
    for (int64_t i = 0; i < 3; ++i) {
      ids.push_back(static_cast<int64_t>(random() % 8));
      positions.push_back((at + i) % kPositions);
    }
    const std::vector<float> expected = copied.run(method, ids, positions);
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(kept.run(method, ids, positions), expected) << "step " << step << " of " << method;
    ASSERT_EQ(overlapped.run(method, ids, positions), expected) << "step " << step << " of " << method;
    if (step == 0) continue;  // reads the initial values
    EXPECT_EQ(copied.host_bytes() - kept.host_bytes(), 2 * kCacheCount * kCacheNbytes) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, SharedState, testing::Values("vulkan", "opencl"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace etb::tools
