// SPDX-License-Identifier: Apache-2.0
// Tests graphs that only seem to fit an operator of XNNPACK, or an optimisation: they run in another way with the
// right numbers, or the claim rejects them.
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

class XnnpackLimits : public XnnpackCompile {
 protected:
  // Parameters of a batch norm, its constants and its node. Constants precede nodes.
  struct BatchNorm {
    std::vector<float> weight, bias, mean, variance;
    std::vector<uint32_t> ids = {};

    void add_constants(Model& model) {
      for (const auto& data : {weight, bias, mean, variance})
        ids.push_back(model.constant({static_cast<int64_t>(data.size())}, data));
    }
    uint32_t add_to(Model& model, uint32_t from, const std::vector<int64_t>& sizes) const {
      return model.node(
          "aten._native_batch_norm_legit_no_training.default",
          {arg(from, "input"), arg(ids[0], "weight"), arg(ids[1], "bias"), arg(ids[2], "running_mean"),
           arg(ids[3], "running_var"), graph::float_arg(0.1, "momentum"), graph::float_arg(1e-5, "eps")},
          sizes, {{0}, {0}});
    }
    float at(double value, size_t channel) const {
      return static_cast<float>(
          (value - mean[channel]) / std::sqrt(variance[channel] + 1e-5) * weight[channel] + bias[channel]);
    }
  };
  BatchNorm random_norm(size_t channels) {
    BatchNorm made{random(channels), random(channels), random(channels), random(channels)};
    for (float& v : made.variance) v = v * v + 0.1f;
    return made;
  }
};

TEST_F(XnnpackLimits, BatchNormOverTheRowsOfALinearLayerIsNotFolded) {
  constexpr size_t kRows = 8, kInputs = 4;  // as many rows as outputs
  const TestTensor weight = random_tensor({kRows, kInputs});
  BatchNorm norm = random_norm(kRows);
  Model model;
  const uint32_t x = model.input({2, kRows, kInputs}), w = model.constant(weight.sizes, weight.data);
  norm.add_constants(model);
  const uint32_t y =
      model.node("aten.linear.default", {arg(x, "input"), arg(w, "weight")}, {2, kRows, kRows});
  model.output(norm.add_to(model, y, {2, kRows, kRows}));
  const TestTensor input = random_tensor({2, kRows, kInputs});
  TestTensor expected{{2, kRows, kRows}, {}};
  for (size_t row = 0; row < 2 * kRows; ++row)
    for (size_t o = 0; o < kRows; ++o) {
      double sum = 0;
      for (size_t k = 0; k < kInputs; ++k)
        sum += double{input.data[row * kInputs + k]} * weight.data[o * kInputs + k];
      expected.data.push_back(norm.at(sum, row % kRows));
    }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackLimits, BatchNormOverTheRowsOfAConvolutionIsNotFolded) {
  constexpr size_t kChannels = 3, kInputs = 2, kWidth = 5;  // as many rows as channels
  const std::vector<int64_t> sizes = {1, kChannels, kChannels, kWidth};
  const TestTensor weight = random_tensor({kChannels, kInputs, 1, 1});
  BatchNorm norm = random_norm(kChannels);
  Model model;
  const uint32_t x = model.input({1, kInputs, kChannels, kWidth}),
                 w = model.constant(weight.sizes, weight.data);
  norm.add_constants(model);
  const uint32_t y = model.node("aten.convolution.default",
                                {arg(x, "input"), arg(w, "weight"), graph::none_arg("bias"),
                                 graph::ints_arg({1, 1}, "stride"), graph::ints_arg({0, 0}, "padding"),
                                 graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                                 graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
                                sizes);
  const uint32_t rows =
      model.node("aten.permute_copy.default", {arg(y, "self"), graph::ints_arg({0, 2, 1, 3}, "dims")}, sizes);
  model.output(norm.add_to(model, rows, sizes));
  const TestTensor input = random_tensor({1, kInputs, kChannels, kWidth});
  TestTensor expected{sizes, {}};
  for (size_t row = 0; row < kChannels; ++row)
    for (size_t o = 0; o < kChannels; ++o)
      for (size_t column = 0; column < kWidth; ++column) {
        double sum = 0;
        for (size_t i = 0; i < kInputs; ++i)
          sum += double{input.data[(i * kChannels + row) * kWidth + column]} * weight.data[o * kInputs + i];
        expected.data.push_back(norm.at(sum, row));
      }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

// PyTorch multiplies positions by the factors, so 2 elements times 2.4 are 1 1 1 2, not 1 1 2 2.
TEST_F(XnnpackLimits, NearestUpsamplingByAFractionIsRejected) {
  for (const double factor : {2.0, 2.4}) {
    Model model;
    const uint32_t x = model.input({1, 1, 1, 2});
    model.output(model.node(
        "aten.upsample_nearest2d.vec",
        {arg(x, "input"), graph::none_arg("output_size"), graph::floats_arg({1.0, factor}, "scale_factors")},
        {1, 1, 1, 4}));
    if (factor != 2) {
      EXPECT_THAT(claims(model.image()).at(0), HasSubstr("attribute: scale_factors: 2.4"));
      continue;
    }
    TestTensor found{{1, 1, 1, 4}, std::vector<float>(4)};
    run(model, {{{1, 1, 1, 2}, {1, 2}}}, found);
    EXPECT_THAT(found.data, ElementsAre(1, 1, 2, 2));
  }
}

}  // namespace
}  // namespace etb::xnnpack
