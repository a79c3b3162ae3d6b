// SPDX-License-Identifier: Apache-2.0
// Tests programs that the official exporter lowered to VulkanBackend (tests/fixtures/make_vulkan_programs.py) in the plugins for
// GPUs, against PyTorch's results in float64. Skipped where a plugin has no device.
#include <algorithm>
#include <cmath>
#include <set>

#include "host/delegates/plugin_delegates.hpp"
#include "tests/runtime/recorded_calls.hpp"

namespace etb::tools {
namespace {

const fs::path kPrograms = fs::path(ETB_SOURCE_DIR) / "tests/fixtures/vulkan";

// Sums in another order than PyTorch's, in floats of networks this deep.
constexpr double kFloatError = 0x1p-16;
// Weights that the exporter rounded to float16.
constexpr double kHalfError = 0x1p-8;

host::RegistryOptions build_tree() {
  host::RegistryOptions options;
  options.application_paths = {ETB_PLUGIN_DIR};
  options.admin_path = "";
  options.environment = {};
  return options;
}

std::vector<double> numbers_of(const Array& array) {
  std::vector<double> out;
  const auto read = [&](auto number) {
    for (size_t i = 0; i + sizeof(number) <= array.bytes.size(); i += sizeof(number)) {
      std::memcpy(&number, array.bytes.data() + i, sizeof(number));
      out.push_back(static_cast<double>(number));
    }
  };
  switch (array.dtype) {
    case host::Dtype::FLOAT64:
      read(double{});
      break;
    case host::Dtype::INT64:
      read(int64_t{});
      break;
    case host::Dtype::INT32:
      read(int32_t{});
      break;
    case host::Dtype::BOOL:
      read(uint8_t{});
      break;
    default:
      read(float{});
  }
  return out;
}

void compare(const Array& found, const Array& expected, double error) {
  ASSERT_EQ(found.sizes, expected.sizes);
  const std::vector<double> a = numbers_of(found), b = numbers_of(expected);
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (const double number : b) largest = std::max(largest, std::abs(number));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], error * largest) << "element " << i;
}

struct Subject {
  std::string plugin, program;
};

class VulkanPrograms : public testing::TestWithParam<Subject> {};

TEST_P(VulkanPrograms, GivePyTorchsNumbers) {
  const auto& [plugin, program] = GetParam();
  host::Registry registry(build_tree());
  host::PluginDelegates delegates(registry);
  delegates.pin("VulkanBackend", "org.etbackend." + plugin);
  host::ModuleOptions options;
  options.delegates = &delegates;
  auto module = host::Module::open((kPrograms / (program + ".pte")).string(), options);
  ASSERT_TRUE(module) << module.error().message;
  const Status loaded = module->load_method("forward");
  if (!loaded && loaded.error().code == Code::UNAVAILABLE) GTEST_SKIP() << loaded.error().message;
  ASSERT_TRUE(loaded) << loaded.error().message;
  for (const auto& decision : delegates.decisions()) {
    ASSERT_NE(decision->winner(), nullptr);
    EXPECT_EQ(decision->winner()->id, "org.etbackend." + plugin);
  }
  MethodInputs inputs(*module->method_meta("forward"));
  for (const auto& [key, call] : calls_of(kPrograms, program)) {
    SCOPED_TRACE("call " + std::to_string(key.second));
    ASSERT_EQ(call.inputs.size(), inputs.count());
    for (uint32_t i = 0; i < inputs.count(); ++i) {
      const Status set = inputs.set_text(i, call.inputs[i].string());
      ASSERT_TRUE(set) << set.error().message;
    }
    const auto outputs = module->execute("forward", inputs.values());
    ASSERT_TRUE(outputs) << outputs.error().message;
    ASSERT_EQ(outputs->size(), call.outputs.size());
    for (size_t i = 0; i < outputs->size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      const auto expected = read_npy(call.outputs[i].string());
      ASSERT_TRUE(expected) << expected.error().message;
      compare(to_row_major((*outputs)[i].tensor()), *expected,
              program.starts_with("float16") ? kHalfError : kFloatError);
    }
  }
}

std::vector<Subject> subjects() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kPrograms))
    if (entry.path().extension() == ".pte") names.insert(entry.path().stem().string());
  std::vector<Subject> out;
  for (const char* plugin : {ETB_GPU_PLUGINS})
    for (const std::string& name : names) out.push_back({plugin, name});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Official, VulkanPrograms, testing::ValuesIn(subjects()),
                         [](const auto& test) { return test.param.plugin + "_" + test.param.program; });

}  // namespace
}  // namespace etb::tools
