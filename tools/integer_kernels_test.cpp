// SPDX-License-Identifier: Apache-2.0
// Whole quantised models with --integer-kernels: no float layer is left, and results are within one step of those of float kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "host/testing/scratch_dir.hpp"
#include "tools/run/npy.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

const std::string kFixtures = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/";

std::vector<float> run_program(const std::string& program, const std::vector<std::string>& input,
                               const std::string& out) {
  std::vector<std::string> args = {"run", program, "--output-dir", out};
  args.insert(args.end(), input.begin(), input.end());
  const CliRun run = cli(args);
  EXPECT_EQ(run.exit, 0) << run.err;
  const auto array = read_npy(out + "/0.npy");
  if (!array) return {};
  std::vector<float> values(array->bytes.size() / sizeof(float));
  std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
  return values;
}

std::set<std::string> operators_of(const std::string& program) {
  const CliRun run = cli({"select", program, "--json"});
  std::set<std::string> operators;
  const auto report = nlohmann::json::parse(run.out, nullptr, false);
  for (const auto& [name, dtypes] : report["operators"].items()) operators.insert(name);
  return operators;
}

// A file of ExecuTorch's Cortex-M passes (tests/fixtures/make_cortex_m.py).
TEST(IntegerPrograms, AnOfficialFileHasTheOfficialResult) {
  const host::ScratchDir dir;
  const std::string network = kFixtures + "cortex_m/network";
  const std::vector<float> found =
      run_program(network + ".pte", {"--input", network + ".in.0.npy"}, dir.path("out"));
  const auto expected = read_npy(network + ".out.0.npy");
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->bytes.size(), found.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(found.data(), expected->bytes.data(), expected->bytes.size()), 0);
  EXPECT_TRUE(operators_of(network + ".pte").contains("cortex_m::quantized_depthwise_conv2d.out"));
}

// The official implementation in Python computes the probabilities in float.
TEST(IntegerPrograms, AnOfficialFileWithProbabilitiesIsWithinAStep) {
  const host::ScratchDir dir;
  const std::string network = kFixtures + "cortex_m/gated";
  const std::vector<float> found =
      run_program(network + ".pte", {"--input", network + ".in.0.npy"}, dir.path("out"));
  const auto expected = read_npy(network + ".out.0.npy");
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->bytes.size(), found.size() * sizeof(float));
  std::vector<float> official(found.size());
  std::memcpy(official.data(), expected->bytes.data(), expected->bytes.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], official[i], 1.001F / 256) << i;
  const std::set<std::string> operators = operators_of(network + ".pte");
  for (const char* name : {"quantized_max_pool2d", "quantized_mul", "softmax"})
    EXPECT_TRUE(operators.contains(std::string("cortex_m::") + name + ".out")) << name;
}

struct Model {
  const char* name;
  std::vector<std::string> input;
  float step;  // the scale of the output
  std::set<std::string> operators;
};

class IntegerModels : public testing::TestWithParam<Model> {};

TEST_P(IntegerModels, AreWithinAStepOfFloatKernels) {
  const host::ScratchDir dir;
  const std::string archive = kFixtures + GetParam().name + ".pt2";
  const std::string real = dir.path("float.pte"), whole = dir.path("integer.pte");
  ASSERT_EQ(cli({"compile", archive, "-o", real}).exit, 0);
  const CliRun compiled = cli({"compile", archive, "--integer-kernels", "-o", whole});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  EXPECT_EQ(operators_of(whole), GetParam().operators);
  const std::vector<float> expected = run_program(real, GetParam().input, dir.path("float"));
  const std::vector<float> found = run_program(whole, GetParam().input, dir.path("integer"));
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_FALSE(found.empty());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], GetParam().step * 1.001F) << i;
  EXPECT_LT(std::filesystem::file_size(whole), std::filesystem::file_size(real));
}

const std::string kQuantize = "quantized_decomposed::quantize_per_tensor.out",
                  kDequantize = "quantized_decomposed::dequantize_per_tensor.out",
                  kLinear = "cortex_m::quantized_linear.out", kConvolution = "cortex_m::quantized_conv2d.out",
                  kDepthwise = "cortex_m::quantized_depthwise_conv2d.out",
                  kAverage = "cortex_m::quantized_avg_pool2d.out", kSum = "cortex_m::quantized_add.out",
                  kMaximum = "cortex_m::quantized_max_pool2d.out", kProduct = "cortex_m::quantized_mul.out",
                  kSoftmax = "cortex_m::softmax.out", kView = "aten::view_copy.out",
                  kClamp = "aten::clamp.out";

INSTANTIATE_TEST_SUITE_P(
    Models, IntegerModels,
    testing::Values(Model{"ds_cnn/ds_cnn",
                          {"--input", kFixtures + "ds_cnn/word.npy"},
                          0.0558065F,
                          {kQuantize, kDequantize, kConvolution, kDepthwise, kAverage, kView, kLinear}},
                    Model{"zoo/mobilenet_v2_q8",
                          {"--input", kFixtures + "zoo/mobilenet_v2_q8.in.0.npy"},
                          0.00103793F,
                          {kQuantize, kDequantize, kConvolution, kDepthwise, kAverage, kSum, kClamp, kView,
                           kLinear}},
                    Model{"zoo/mlp_q8_per_tensor",
                          {"--input", kFixtures + "zoo/mlp_q8_per_tensor.in.0.npy"},
                          0.0043F,
                          {kQuantize, kDequantize, kLinear}},
                    Model{"quantised_pairs/net_q8",
                          {"--random", "1"},
                          0.0034F,
                          {kQuantize, kDequantize, kConvolution, kAverage, kSum, kView, kLinear}},
                    Model{"cortex_m/gated",
                          {"--input", kFixtures + "cortex_m/gated.in.0.npy"},
                          1.0F / 256,
                          {kQuantize, kDequantize, kConvolution, kMaximum, kProduct, kView, kLinear, kSoftmax,
                           "dim_order_ops::_clone_dim_order.out"}}),
    [](const auto& test) { return std::filesystem::path(test.param.name).filename().string(); });

}  // namespace
}  // namespace etb::tools
