// SPDX-License-Identifier: Apache-2.0
// Tests every model of tests/fixtures/zoo and archives: compiles and runs it, and compares with PyTorch's own
// results.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/run/npy.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(ETB_SOURCE_DIR) / "tests/fixtures";

// Names include the folder: "zoo/mlp". Models without a result are for tests that do not run them.
std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const char* folder : {"zoo", "archives"}) {
    for (const auto& entry : fs::directory_iterator(kFixtures / folder)) {
      const fs::path stem = fs::path(folder) / entry.path().stem();
      if (entry.path().extension() == ".pt2" && fs::exists(kFixtures / (stem.string() + ".out.0.npy")))
        names.push_back(stem);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

template <class T>
void append(const Array& array, std::vector<double>& out) {
  for (size_t i = 0; i + sizeof(T) <= array.bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, array.bytes.data() + i, sizeof(T));
    out.push_back(static_cast<double>(value));
  }
}
std::vector<double> numbers(const Array& array) {
  std::vector<double> out;
  switch (array.dtype) {
    case host::Dtype::FLOAT32:
    case host::Dtype::COMPLEX64:
      append<float>(array, out);
      break;
    case host::Dtype::INT64:
      append<int64_t>(array, out);
      break;
    case host::Dtype::INT32:
      append<int32_t>(array, out);
      break;
    case host::Dtype::BOOL:
    case host::Dtype::UINT8:
      append<uint8_t>(array, out);
      break;
    default:
      ADD_FAILURE() << "a dtype that this test does not read";
  }
  return out;
}

// Returns the path of an array, the text of a number, true, false or none, or "" when there is no such input.
std::string input_text(const std::string& input) {
  if (fs::exists(kFixtures / (input + ".npy"))) return kFixtures / (input + ".npy");
  std::ifstream file(kFixtures / (input + ".txt"));
  std::string text;
  std::getline(file, text);
  return text;
}

class Zoo : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { fs::create_directories(dir_); }
  void TearDown() override { fs::remove_all(dir_); }
  // `tolerance` allows for sums in another order, at the output's scale. The official programs differ by up to 1e-6 on
  // the same models.
  void run_and_compare(const std::string& name, const std::string& program, double tolerance) {
    std::vector<std::string> args = {"--plugin-path", ETB_PLUGIN_DIR, "run",
                                     program,         "--output-dir", dir_ / "out"};
    for (int i = 0;; ++i) {
      const std::string input = input_text(name + ".in." + std::to_string(i));
      if (input.empty()) break;
      args.insert(args.end(), {"--input", input});
    }
    const CliRun ran = cli(args);
    ASSERT_EQ(ran.exit, 0) << ran.err;
    int count = 0;
    for (; fs::exists(kFixtures / (name + ".out." + std::to_string(count) + ".npy")); ++count) {
      const std::string index = std::to_string(count) + ".npy";
      const auto got = read_npy(dir_ / "out" / index),
                 wanted = read_npy(kFixtures / (name + ".out." + index));
      ASSERT_TRUE(got && wanted);
      EXPECT_EQ(got->sizes, wanted->sizes);
      EXPECT_EQ(got->dtype, wanted->dtype);
      const std::vector<double> x = numbers(*got), y = numbers(*wanted);
      ASSERT_EQ(x.size(), y.size());
      double scale = 1, worst = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        scale = std::max(scale, std::abs(y[i]));
        worst = std::max(worst, std::isnan(x[i]) ? INFINITY : std::abs(x[i] - y[i]));
      }
      EXPECT_LE(worst, tolerance * scale) << "output " << count;
    }
    EXPECT_GT(count, 0);
  }
  // Compiles with a plugin; the portable kernels take the other nodes.
  void compile_run_and_compare(const std::string& plugin, double tolerance, std::string delegate_id = "") {
    const std::string plugins = ETB_PLUGIN_DIR;
    if (!fs::exists(fs::path(plugins) / (plugin + ".json"))) GTEST_SKIP() << plugin << " is not built";
    if (delegate_id.empty()) delegate_id = plugin;
    const std::string name = GetParam(), program = dir_ / "model.pte";
    const CliRun compiled = cli(
        {"--plugin-path", plugins, "compile", kFixtures / (name + ".pt2"), "-b", delegate_id, "-o", program});
    ASSERT_EQ(compiled.exit, 0) << compiled.err;
    run_and_compare(name, program, tolerance);
  }
  fs::path dir_ = fs::temp_directory_path() / ("etb_zoo_" + std::to_string(::getpid()));
};

TEST_P(Zoo, GivesPyTorchsNumbers) {
  const std::string name = GetParam(), program = dir_ / "model.pte";
  const CliRun compiled = cli({"compile", kFixtures / (name + ".pt2"), "-o", program, "--json"});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  const auto method = nlohmann::json::parse(compiled.out)["methods"][0];
  const auto arena = method["arena_nbytes"].get<uint64_t>(),
             bound = method["arena_lower_bound_nbytes"].get<uint64_t>();
  EXPECT_LE(static_cast<double>(arena), 1.02 * static_cast<double>(bound));
  run_and_compare(name, program, 1e-5);
}

// The rounded numbers of quantised networks may differ by a step of int8.
TEST_P(Zoo, GivesPyTorchsNumbersWithXnnpack) {
  const std::string name = GetParam();
  const bool is_quantised = name.find("q8") != name.npos || name.find("8da4w") != name.npos;
  compile_run_and_compare("xnnpack", is_quantised ? 1e-2 : 2e-5);
}

TEST_P(Zoo, GivesPyTorchsNumbersWithOpencl) {
  if (!fs::exists("/etc/OpenCL/vendors")) GTEST_SKIP() << "no OpenCL driver";
  compile_run_and_compare("opencl", 2e-5);
}

// The payloads that ExecuTorch's own Vulkan runtime executes, run by the reader of official payloads.
TEST_P(Zoo, GivesPyTorchsNumbersWithOfficialVulkanPayloads) {
  std::error_code failed;
  if (fs::directory_iterator("/usr/share/vulkan/icd.d", failed) == fs::directory_iterator())
    GTEST_SKIP() << "no Vulkan driver";
  compile_run_and_compare("vulkan", 2e-5, "VulkanBackend");
}

INSTANTIATE_TEST_SUITE_P(Models, Zoo, testing::ValuesIn(model_names()), [](const auto& each) {
  std::string name = each.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(ZooFixtures, AreAllThere) { EXPECT_GE(model_names().size(), 58u); }

}  // namespace
}  // namespace etb::tools
