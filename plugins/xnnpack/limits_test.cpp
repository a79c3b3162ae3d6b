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

// Adds abs over [s0, ...], a view to other dynamic dimensions of the same upper bounds, and a softmax over the last
// dimension of the view. `formulas`: by dimension of the input and of the view, the index of a symbol, -1 if it is
// static.
Model view_of_symbols(const std::vector<int64_t>& bounds, const std::array<std::vector<int>, 2> formulas) {
  Model model;
  Builder& builder = model.builder();
  std::vector<uint32_t> symbols;
  for (const char* name : {"s0", "s1"})
    symbols.push_back(builder.add_symbol_expr(builder.add_symbol({.name = name, .min = 1, .max = 8})));
  std::array<uint32_t, 2> specs{};
  for (size_t i = 0; i < 2; ++i) {
    graph::SpecDesc spec{ETB_DTYPE_FLOAT32, bounds};
    for (uint32_t d = 0; d < bounds.size(); ++d) {
      const int symbol = formulas[i][d];
      if (symbol >= 0) spec.dynamic_dims.push_back({d, 1, symbols[static_cast<size_t>(symbol)]});
    }
    specs[i] = builder.add_spec(spec);
  }
  GraphBuilder& graph = builder.graph(0);
  const uint32_t x = graph.add_input(graph::tensor("x", specs[0]));
  const uint32_t y = graph.add_node(
      {.op = "aten.abs.default", .args = {arg(x, "self")}, .outputs = {graph::tensor("y", specs[0])}});
  const uint32_t v = graph.add_node({.op = "aten.view_copy.default",
                                     .args = {arg(y, "self"), graph::ints_arg({8, -1}, "size")},
                                     .outputs = {graph::tensor("v", specs[1])}});
  graph.add_output(graph.add_node(
      {.op = "aten._softmax.default",
       .args = {arg(v, "self"), graph::int_arg(-1, "dim"), graph::bool_arg(false, "half_to_float")},
       .outputs = {graph::tensor("z", specs[1])}}));
  return model;
}

TEST_F(XnnpackLimits, AViewThatMovesTheDynamicDimensionIsNoIdentity) {
  const Model model = view_of_symbols({8, 8}, {{{0, -1}, {-1, 0}}});
  for (const int64_t size : {8, 3, 5}) {
    const TestTensor input = random_tensor({size, 8});
    TestTensor expected{{8, size}, {}};
    for (size_t first = 0; first < input.numel(); first += static_cast<size_t>(size)) {
      double total = 0;
      for (size_t i = 0; i < static_cast<size_t>(size); ++i)
        total += std::exp(std::abs(input.data[first + i]));
      for (size_t i = 0; i < static_cast<size_t>(size); ++i)
        expected.data.push_back(static_cast<float>(std::exp(std::abs(input.data[first + i])) / total));
    }
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected);
  }
}

TEST_F(XnnpackLimits, AViewThatSwapsDynamicDimensionsIsRejected) {
  EXPECT_THAT(claims(view_of_symbols({8, 8}, {{{0, 1}, {1, 0}}}).image()).at(1), HasSubstr("dynamic: "));
  expect_all_claimed(view_of_symbols({8, 8}, {{{0, 1}, {0, 1}}}));
}

// XNNPACK's roots are products with an estimate: wrong from 2^126 on, NaN for infinity.
TEST_F(XnnpackLimits, RootsAsPowersAreRejected) {
  for (const double exponent : {0.5, -0.5}) {
    Model model;
    const uint32_t x = model.input({8});
    model.output(
        model.node("aten.pow.Tensor_Scalar", {arg(x, "self"), graph::float_arg(exponent, "exponent")}, {8}));
    EXPECT_THAT(claims(model.image()).at(0), HasSubstr("attribute: exponent: "));
  }
}

TEST_F(XnnpackLimits, ExpansionKeepsTheSignOfZero) {
  Model model;
  const uint32_t x = model.input({2, 1});
  model.output(
      model.node("aten.expand_copy.default", {arg(x, "self"), graph::ints_arg({2, 3}, "size")}, {2, 3}));
  TestTensor found{{2, 3}, std::vector<float>(6)};
  run(model, {{{2, 1}, {-0.0f, 0.0f}}}, found);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(found.data[i], 0);
    EXPECT_EQ(std::signbit(found.data[i]), i < 3) << "element " << i;
  }
}

TEST_F(XnnpackLimits, RunsEndAtTheirTokenAndTheirDeadline) {
  Model model;
  const uint32_t x = model.input({2});
  model.output(model.node("aten.abs.default", {arg(x, "self")}, {2}));
  TestTensor found{{2}, std::vector<float>(2)};
  const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr, [](void*) { return 1u; }};
  cancel_ = &token;
  expected_status_ = ETB_CANCELLED;
  run(model, {{{2}, {-1, 2}}}, found);
  cancel_ = nullptr;
  deadline_ns_ = 1;
  expected_status_ = ETB_DEADLINE_EXCEEDED;
  run(model, {{{2}, {-1, 2}}}, found);
}

TEST_F(XnnpackLimits, UnknownCompileSpecsAreRejectedByKey) {
  Model model;
  const uint32_t x = model.input({2});
  model.output(model.node("aten.abs.default", {arg(x, "self")}, {2}));
  Compiled made;
  specs_ = {{ETB_INIT_SIZE(etb_compile_spec), 0, "chip", {"v2", 2}}};
  EXPECT_EQ(compile(model.image(), made), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("compile spec 'chip'"));
}

}  // namespace
}  // namespace etb::xnnpack
