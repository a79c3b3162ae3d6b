// SPDX-License-Identifier: Apache-2.0
// Tests a model whose layers are float, static int8, dynamic int8 and int4 in groups (tests/fixtures/make_hybrid.py): `info` prints which is which,
// and portable kernels, XNNPACK, and the DSP beside XNNPACK give PyTorch's numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/run/npy.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

const std::string kModel = ETB_SOURCE_DIR "/tests/fixtures/hybrid/hybrid";

TEST(HybridModel, InfoTellsTheQuantisationOfEachLayer) {
  const CliRun ran = cli({"info", kModel + ".pt2", "--json"});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  std::vector<std::string> layers;
  const auto report = nlohmann::json::parse(ran.out);
  for (const auto& layer : report["layers"])
    layers.push_back(layer["name"].get<std::string>() + ": " + layer["weights"].get<std::string>() + "; " +
                     layer["input"].get<std::string>());
  EXPECT_THAT(layers,
              ElementsAre("stem: float32; float32", "body.0: int8 per channel; int8 per tensor, static",
                          "body.2: int8 per channel; int8 per tensor, static",
                          "mixer: int8 per channel; int8 per tensor, dynamic",
                          "memory: int4 in groups of 32; int8 per token, dynamic", "head: float32; float32"));
  const CliRun text = cli({"info", kModel + ".pt2"});
  EXPECT_THAT(text.out, testing::HasSubstr("quantised: 4 of 6 layers with weights"));
  EXPECT_THAT(
      text.out,
      testing::HasSubstr(
          "memory  aten.linear.default: weights int4 in groups of 32; input int8 per token, dynamic"));
}

std::vector<float> floats(const std::string& path) {
  const auto array = read_npy(path);
  EXPECT_TRUE(array) << path;
  std::vector<float> out(array ? array->bytes.size() / sizeof(float) : 0);
  if (array) std::memcpy(out.data(), array->bytes.data(), out.size() * sizeof(float));
  return out;
}

class HybridBackends : public testing::TestWithParam<std::vector<std::string>> {};

// The tolerance is that of the other quantised models (compile_zoo_test).
TEST_P(HybridBackends, GivesPyTorchsNumbers) {
  const fs::path folder = fs::temp_directory_path() / ("etb_hybrid_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string plugins = ETB_PLUGIN_DIR;
  std::vector<std::string> compile = {"--plugin-path", plugins, "compile",
                                      kModel + ".pt2", "-o",    folder / "model.pte"};
  for (const std::string& plugin : GetParam()) {
    if (!fs::exists(fs::path(plugins) / (plugin + ".json"))) GTEST_SKIP() << plugin << " is not built";
    compile.insert(compile.end(), {"-b", plugin});
  }
  const CliRun compiled = cli(compile);
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  const CliRun ran = cli({"--plugin-path", plugins, "run", folder / "model.pte", "--input",
                          kModel + ".in.0.npy", "--output-dir", folder});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const std::vector<float> found = floats(folder / "0.npy"), wanted = floats(kModel + ".out.0.npy");
  ASSERT_EQ(found.size(), wanted.size());
  float scale = 0;
  for (const float number : wanted) scale = std::max(scale, std::abs(number));
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-2f * scale) << i;
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(All, HybridBackends,
                         testing::Values(std::vector<std::string>{}, std::vector<std::string>{"xnnpack"},
                                         std::vector<std::string>{"dsp_stub", "xnnpack"}));

}  // namespace
}  // namespace etb::tools
