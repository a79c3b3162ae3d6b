// SPDX-License-Identifier: Apache-2.0
// Tests that an application trains a compiled program: it runs the joint graph and writes the parameters, which are outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "host/module/module.hpp"
#include "host/testing/scratch_dir.hpp"
#include "tools/testing/cli_run.hpp"

namespace etb::tools {
namespace {

int64_t number(host::Module& module, const std::string& method) {
  const auto result = module.execute(method, std::span<const host::EValue>());
  EXPECT_TRUE(result) << result.error().message;
  return result ? result->at(0).to_int() : 0;
}

TEST(Training, StepsOfGradientDescentReduceTheLoss) {
  const host::ScratchDir scratch;
  const std::string program = scratch.path("model.pte");
  const std::string archive = std::string(ETB_SOURCE_DIR) + "/tests/fixtures/zoo/training_convolutions.pt2";
  const CliRun compiled = cli({"compile", archive, "-o", program});
  ASSERT_EQ(compiled.exit, 0) << compiled.err;
  auto module = host::Module::open(program);
  ASSERT_TRUE(module) << module.error().message;
  const auto first_gradient = static_cast<size_t>(number(*module, "__et_training_gradients_index_forward"));
  const auto first_parameter = static_cast<size_t>(number(*module, "__et_training_parameters_index_forward"));
  std::vector<float> input(3 * 2 * 7 * 7);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 13) / 13.0f - 0.5f;
  host::TensorStorage storage;
  host::Tensor x = storage.make(host::Dtype::FLOAT32, std::vector<int64_t>{3, 2, 7, 7},
                                reinterpret_cast<std::byte*>(input.data()), input.size() * sizeof(float), {});
  float before = INFINITY;
  for (int step = 0; step < 5; ++step) {
    const auto outputs = module->forward({host::EValue(&x)});
    ASSERT_TRUE(outputs) << outputs.error().message;
    ASSERT_EQ(outputs->size(), 2 * first_parameter - first_gradient);
    const float loss = *outputs->at(0).tensor().data_as<float>();
    EXPECT_LT(loss, before);
    before = loss;
    for (size_t i = first_gradient; i < first_parameter; ++i) {
      const host::Tensor& gradient = outputs->at(i).tensor();
      host::Tensor& parameter = outputs->at(first_parameter + i - first_gradient).tensor();
      for (int64_t j = 0; j < gradient.numel(); ++j)
        parameter.data_as<float>()[j] -= 0.5f * gradient.data_as<float>()[j];
    }
  }
  // Another instance of the method begins with the archive's parameters.
  auto again = host::Module::open(program);
  ASSERT_TRUE(again);
  const auto outputs = again->forward({host::EValue(&x)});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_GT(*outputs->at(0).tensor().data_as<float>(), before);
}

}  // namespace
}  // namespace etb::tools
