// SPDX-License-Identifier: Apache-2.0
// Tests whole programs that the official exporter lowered to XnnpackBackend: the host finds the plugin in the
// build tree by the id in the file, loads it, and runs its delegates.
#include <set>

#include "host/delegates/plugin_delegates.hpp"
#include "tests/runtime/recorded_calls.hpp"

namespace etb::tools {
namespace {

const fs::path kFixtures = fs::path(ETB_SOURCE_DIR) / "tests/fixtures";

host::RegistryOptions build_tree() {
  host::RegistryOptions options;
  options.application_paths = {ETB_PLUGIN_DIR};
  options.admin_path = "";
  options.environment = {};
  return options;
}

class Delegated : public testing::TestWithParam<std::string> {};

TEST_P(Delegated, GivesPyTorchsNumbers) {
  host::Registry registry(build_tree());
  host::PluginDelegates delegates(registry);
  host::ModuleOptions options;
  options.delegates = &delegates;
  const fs::path path = kFixtures / GetParam();
  expect_recorded_numbers(path.parent_path(), path.filename().string(), options);
  ASSERT_FALSE(delegates.decisions().empty());
  for (const auto& decision : delegates.decisions()) {
    ASSERT_NE(decision->winner(), nullptr);
    EXPECT_EQ(decision->winner()->id, "org.etbackend.xnnpack");
  }
}

std::vector<std::string> delegated_programs() {
  std::set<std::string> names = {"programs/xnnpack", "programs/delegate_inline"};
  for (const auto& entry : fs::directory_iterator(kFixtures / "xnnpack")) {
    const std::string stem = entry.path().stem().string();
    // Quantised results may be one step away from PyTorch's. plugins/xnnpack/xnnpack_test.cpp compares those,
    // and fp16.
    const bool is_exact = stem.rfind('q', 0) != 0 && stem.rfind("fp16", 0) != 0;
    if (entry.path().extension() == ".pte" && is_exact) names.insert("xnnpack/" + stem);
  }
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Official, Delegated, testing::ValuesIn(delegated_programs()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(Delegates, AMissingPluginIsNamedWithThePlacesSearched) {
  host::RegistryOptions nowhere = build_tree();
  nowhere.application_paths = {"/nonexistent/etbackend"};
  host::Registry registry(nowhere);
  host::PluginDelegates delegates(registry);
  host::ModuleOptions options;
  options.delegates = &delegates;
  auto module = host::Module::open((kFixtures / "programs/xnnpack.pte").string(), options);
  ASSERT_TRUE(module) << module.error().message;
  const Status loaded = module->load_method("forward");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::NOT_FOUND);
  EXPECT_THAT(loaded.error().message, testing::HasSubstr("XnnpackBackend"));
  EXPECT_THAT(loaded.error().message, testing::HasSubstr("/nonexistent/etbackend"));
}

}  // namespace
}  // namespace etb::tools
