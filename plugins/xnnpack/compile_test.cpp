// SPDX-License-Identifier: Apache-2.0
// Tests the ahead-of-time half: claims with reasons, and payloads whose results must equal plain loops.
#include "plugins/xnnpack/payload/writer.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/payload_fixture.hpp"

namespace etb::xnnpack {
namespace {

// A 3x3 convolution with padding 1 over 4 channels, [1, 4, 6, 5] to [1, 8, 6, 5].
struct ConvolutionCase {
  TestTensor weight{{8, 4, 3, 3}, {}};
  uint32_t add_to(Model& model, uint32_t x, uint32_t w, std::vector<int64_t> sizes = {1, 8, 6, 5}) const {
    return model.node("aten.convolution.default",
                      {arg(x, "input"), arg(w, "weight"), graph::none_arg("bias"),
                       graph::ints_arg({1, 1}, "stride"), graph::ints_arg({1, 1}, "padding"),
                       graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                       graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(1, "groups")},
                      sizes);
  }
  static TestTensor compute(TestTensor& x, TestTensor& w) {
    TestTensor y{{1, w.sizes[0], 6, 5}, std::vector<float>(static_cast<size_t>(w.sizes[0]) * 30)};
    for (int64_t o = 0; o < w.sizes[0]; ++o)
      for (int64_t h = 0; h < 6; ++h)
        for (int64_t v = 0; v < 5; ++v) {
          float sum = 0;
          for (int64_t c = 0; c < w.sizes[1]; ++c)
            for (int64_t i = 0; i < 3; ++i)
              for (int64_t j = 0; j < 3; ++j) {
                const int64_t a = h + i - 1, b = v + j - 1;
                if (a >= 0 && a < 6 && b >= 0 && b < 5) sum += x.at({0, c, a, b}) * w.at({o, c, i, j});
              }
          y.at({0, o, h, v}) = sum;
        }
    return y;
  }
};

TEST_F(XnnpackCompile, BatchNormAndReluVanishIntoTheConvolution) {
  ConvolutionCase c;
  c.weight = random_tensor({8, 4, 3, 3});
  const std::vector<float> mean = random(8), weight = random(8), bias = random(8);
  std::vector<float> variance = random(8);
  for (float& v : variance) v = v * v + 0.1f;
  Model model;
  const uint32_t x = model.input({1, 4, 6, 5});
  const uint32_t w = model.constant(c.weight.sizes, c.weight.data);
  const uint32_t g = model.constant({8}, weight), b = model.constant({8}, bias),
                 m = model.constant({8}, mean), v = model.constant({8}, variance);
  const uint32_t y = c.add_to(model, x, w);
  const uint32_t n =
      model.node("aten._native_batch_norm_legit_no_training.default",
                 {arg(y, "input"), arg(g, "weight"), arg(b, "bias"), arg(m, "running_mean"),
                  arg(v, "running_var"), graph::float_arg(0.1, "momentum"), graph::float_arg(1e-5, "eps")},
                 {1, 8, 6, 5}, {{0}, {0}});
  model.output(model.node("aten.relu.default", {arg(n, "self")}, {1, 8, 6, 5}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kStaticTranspose, XnnOperator::kConv2d,
                                            XnnOperator::kStaticTranspose));

  TestTensor input = random_tensor({1, 4, 6, 5});
  TestTensor expected = ConvolutionCase::compute(input, c.weight);
  for (size_t i = 0; i < expected.numel(); ++i) {
    const size_t o = i / 30;
    const float normal = (expected.data[i] - mean[o]) / std::sqrt(variance[o] + 1e-5f) * weight[o] + bias[o];
    expected.data[i] = std::max(0.0f, normal);
  }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackCompile, AResidualBlockIsTransposedOnceAtEachBorder) {
  ConvolutionCase c;
  TestTensor first = random_tensor({4, 4, 3, 3}), second = random_tensor({4, 4, 3, 3});
  Model model;
  const uint32_t x = model.input({1, 4, 6, 5});
  const uint32_t a = model.constant(first.sizes, first.data), b = model.constant(second.sizes, second.data);
  const uint32_t y =
      model.node("aten.relu.default", {arg(c.add_to(model, x, a, {1, 4, 6, 5}), "self")}, {1, 4, 6, 5});
  const uint32_t z = c.add_to(model, y, b, {1, 4, 6, 5});
  model.output(model.node("aten.add.Tensor", {arg(z, "self"), arg(x, "other")}, {1, 4, 6, 5}));
  EXPECT_THAT(operators(model),
              ElementsAre(XnnOperator::kStaticTranspose, XnnOperator::kConv2d, XnnOperator::kConv2d,
                          XnnOperator::kAdd, XnnOperator::kStaticTranspose));
  TestTensor input = random_tensor({1, 4, 6, 5});
  TestTensor hidden = ConvolutionCase::compute(input, first);
  for (float& value : hidden.data) value = std::max(0.0f, value);
  TestTensor expected = ConvolutionCase::compute(hidden, second);
  for (size_t i = 0; i < expected.numel(); ++i) expected.data[i] += input.data[i];
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackCompile, AReluThatIsNotTheOnlyReaderStaysANode) {
  ConvolutionCase c;
  Model model;
  const uint32_t x = model.input({1, 4, 6, 5});
  const uint32_t w = model.constant({4, 4, 3, 3}, random(144));
  const uint32_t y = c.add_to(model, x, w, {1, 4, 6, 5});
  const uint32_t same = model.node("aten.view_copy.default",
                                   {arg(y, "self"), graph::ints_arg({1, 4, 6, 5}, "size")}, {1, 4, 6, 5});
  const uint32_t z = model.node("aten.relu.default", {arg(same, "self")}, {1, 4, 6, 5});
  model.output(model.node("aten.mul.Tensor", {arg(y, "self"), arg(z, "other")}, {1, 4, 6, 5}));
  EXPECT_THAT(operators(model),
              ElementsAre(XnnOperator::kStaticTranspose, XnnOperator::kConv2d, XnnOperator::kClamp,
                          XnnOperator::kMultiply, XnnOperator::kStaticTranspose));
}

TEST_F(XnnpackCompile, ALinearLayerTakesItsWeightAsItLies) {
  TestTensor weight = random_tensor({7, 5});
  const std::vector<float> bias = random(7);
  for (const bool is_decomposed : {false, true}) {
    Model model;
    const uint32_t x = is_decomposed ? model.input({6, 5}) : model.input({2, 3, 5});
    const uint32_t w = model.constant({7, 5}, weight.data), b = model.constant({7}, bias);
    if (is_decomposed) {
      const uint32_t t =
          model.node("aten.permute_copy.default", {arg(w, "self"), graph::ints_arg({1, 0}, "dims")}, {5, 7});
      model.output(
          model.node("aten.addmm.default", {arg(b, "self"), arg(x, "mat1"), arg(t, "mat2")}, {6, 7}));
    } else {
      model.output(
          model.node("aten.linear.default", {arg(x, "input"), arg(w, "weight"), arg(b, "bias")}, {2, 3, 7}));
    }
    EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kFullyConnected));
    Compiled made;
    ASSERT_EQ(compile(model.image(), made), ETB_OK);
    EXPECT_EQ(made.constant_keys.size(), 2u) << "constants are copied";
    TestTensor input =
        random_tensor(is_decomposed ? std::vector<int64_t>{6, 5} : std::vector<int64_t>{2, 3, 5});
    TestTensor expected{is_decomposed ? std::vector<int64_t>{6, 7} : std::vector<int64_t>{2, 3, 7},
                        std::vector<float>(42)};
    for (size_t i = 0; i < 6; ++i)
      for (size_t o = 0; o < 7; ++o) {
        float sum = bias[o];
        for (size_t k = 0; k < 5; ++k) sum += input.data[i * 5 + k] * weight.data[o * 5 + k];
        expected.data[i * 7 + o] = sum;
      }
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected);
  }
}

TEST_F(XnnpackCompile, AttentionIsTakenWholeAndHidesTheFuture) {
  constexpr int64_t kHeads = 2, kLength = 5, kDepth = 4;
  Model model;
  const std::vector<int64_t> sizes = {1, kHeads, kLength, kDepth};
  const uint32_t q = model.input(sizes), k = model.input(sizes), v = model.input(sizes);
  model.output(model.node("aten.scaled_dot_product_attention.default",
                          {arg(q, "query"), arg(k, "key"), arg(v, "value"), graph::none_arg("attn_mask"),
                           graph::float_arg(0, "dropout_p"), graph::bool_arg(true, "is_causal")},
                          sizes));
  TestTensor query = random_tensor(sizes), key = random_tensor(sizes), value = random_tensor(sizes),
             expected = query;
  for (int64_t h = 0; h < kHeads; ++h)
    for (int64_t t = 0; t < kLength; ++t) {
      std::vector<double> weights;
      double total = 0;
      for (int64_t u = 0; u <= t; ++u) {
        double score = 0;
        for (int64_t d = 0; d < kDepth; ++d) score += double{query.at({0, h, t, d})} * key.at({0, h, u, d});
        weights.push_back(std::exp(score / 2));
        total += weights.back();
      }
      for (int64_t d = 0; d < kDepth; ++d) {
        double sum = 0;
        for (int64_t u = 0; u <= t; ++u)
          sum += weights[static_cast<size_t>(u)] / total * value.at({0, h, u, d});
        expected.at({0, h, t, d}) = static_cast<float>(sum);
      }
    }
  TestTensor found = expected;
  run(model, {query, key, value}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackCompile, LayerNormAndTanhGeluAreMadeOfWhatThereIs) {
  Model model;
  const uint32_t x = model.input({3, 4, 10});
  const std::vector<float> weight = random(10), bias = random(10);
  const uint32_t w = model.constant({10}, weight), b = model.constant({10}, bias);
  const uint32_t n = model.node("aten.native_layer_norm.default",
                                {arg(x, "input"), graph::ints_arg({10}, "normalized_shape"), arg(w, "weight"),
                                 arg(b, "bias"), graph::float_arg(1e-5, "eps")},
                                {3, 4, 10}, {{3, 4, 1}, {3, 4, 1}});
  model.output(model.node("aten.gelu.default", {arg(n, "self"), graph::string_arg("tanh", "approximate")},
                          {3, 4, 10}));
  TestTensor input = random_tensor({3, 4, 10}), expected = input;
  for (size_t row = 0; row < 12; ++row) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < 10; ++i) mean += input.data[row * 10 + i] / 10.0;
    for (size_t i = 0; i < 10; ++i) variance += std::pow(input.data[row * 10 + i] - mean, 2) / 10;
    for (size_t i = 0; i < 10; ++i) {
      const double y = (input.data[row * 10 + i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
      expected.data[row * 10 + i] =
          static_cast<float>(0.5 * y * (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y))));
    }
  }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected);
}

TEST_F(XnnpackCompile, ATransposedKeyNeedsNoTranspose) {
  Model model;
  const uint32_t a = model.input({2, 3, 4}), b = model.input({2, 5, 4});
  const uint32_t t = model.node("aten.permute_copy.default",
                                {arg(b, "self"), graph::ints_arg({0, 2, 1}, "dims")}, {2, 4, 5});
  model.output(model.node("aten.bmm.default", {arg(a, "self"), arg(t, "mat2")}, {2, 3, 5}));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kBatchMatrixMultiply));
}

TEST_F(XnnpackCompile, OneWeightOfTwoLayersIsStoredOnce) {
  Model model;
  const uint32_t x = model.input({3, 5});
  const std::vector<float> data = random(25);
  const uint32_t w = model.constant({5, 5}, data), same = model.constant({5, 5}, data);
  const uint32_t y = model.node("aten.linear.default", {arg(x, "input"), arg(w, "weight")}, {3, 5});
  const uint32_t z = model.node("aten.linear.default", {arg(y, "input"), arg(w, "weight")}, {3, 5});
  model.output(model.node("aten.linear.default", {arg(z, "input"), arg(same, "weight")}, {3, 5}));
  Compiled made;
  ASSERT_EQ(compile(model.image(), made), ETB_OK) << error_.text;
  EXPECT_EQ(made.blobs.size(), 1u);
}

// proves: ABI-AOT-02
TEST_F(XnnpackCompile, TheSameRegionGivesTheSameBytes) {
  ConvolutionCase c;
  Model model;
  const uint32_t x = model.input({1, 4, 6, 5});
  const uint32_t w = model.constant({8, 4, 3, 3}, random(288));
  model.output(c.add_to(model, x, w));
  Compiled first, second;
  ASSERT_EQ(compile(model.image(), first), ETB_OK);
  ASSERT_EQ(compile(model.image(), second), ETB_OK);
  EXPECT_EQ(first.payload, second.payload);
  EXPECT_EQ(first.blobs, second.blobs);
}

TEST_F(XnnpackCompile, ChannelsLastTensorsCrossTheBorderAsTheyLie) {
  ConvolutionCase c;
  TestTensor weight = random_tensor({4, 4, 3, 3});
  Model model;
  const uint32_t x = model.input({1, 4, 6, 5}, {0, 2, 3, 1});
  const uint32_t w = model.constant(weight.sizes, weight.data);
  const uint32_t y = c.add_to(model, x, w, {1, 4, 6, 5});
  model.output(y);
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kConv2d, XnnOperator::kStaticTranspose));
  TestTensor input = random_tensor({1, 4, 6, 5});
  TestTensor expected = ConvolutionCase::compute(input, weight);
  TestTensor moved = input;
  moved.dim_order = {0, 2, 3, 1};
  for (size_t i = 0; i < 120; ++i) moved.data[i % 30 * 4 + i / 30] = input.data[i];
  TestTensor found = expected;
  run(model, {moved}, found);
  expect_near(found, expected);
}

// An int8 model: quantize, dequantize, linear, relu, quantize, dequantize.
TEST_F(XnnpackCompile, QuantisedLayersComputeOnIntegers) {
  Model model;
  Builder& builder = model.builder();
  const uint32_t x = model.input({3, 8});
  const std::vector<float> bias = random(4);
  const uint32_t b = model.constant({4}, bias);
  std::vector<uint8_t> weights(32);
  for (uint8_t& weight : weights) weight = static_cast<uint8_t>(generator_());
  const uint32_t weight_spec = builder.add_spec({ETB_DTYPE_INT8, {4, 8}});
  const uint32_t weight_constant = builder.add_constant({.key = "w", .spec = weight_spec, .data = weights});
  const uint32_t w = builder.graph(0).add_input(graph::tensor("w", weight_spec), ETB_GRAPH_INPUT_PARAMETER,
                                                "w", weight_constant);
  const auto convert = [&](const char* op, uint32_t from, double scale, int64_t zero_point, uint32_t spec) {
    return builder.graph(0).add_node(
        {.op = "quantized_decomposed." + std::string(op) + "_per_tensor.default",
         .args = {arg(from, "input"), graph::float_arg(scale, "scale"),
                  graph::int_arg(zero_point, "zero_point"), graph::int_arg(-128, "quant_min"),
                  graph::int_arg(127, "quant_max"),
                  graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
         .outputs = {graph::tensor(op + std::to_string(from), spec)}});
  };
  const uint32_t int_in = builder.add_spec({ETB_DTYPE_INT8, {3, 8}}),
                 int_out = builder.add_spec({ETB_DTYPE_INT8, {3, 4}});
  const uint32_t dw = convert("dequantize", w, 0.01, 0, model.spec({4, 8}));
  const uint32_t dx =
      convert("dequantize", convert("quantize", x, 1.0 / 128, 0, int_in), 1.0 / 128, 0, model.spec({3, 8}));
  const uint32_t y =
      model.node("aten.linear.default", {arg(dx, "input"), arg(dw, "weight"), arg(b, "bias")}, {3, 4});
  const uint32_t z = model.node("aten.relu.default", {arg(y, "self")}, {3, 4});
  model.output(
      convert("dequantize", convert("quantize", z, 0.05, -128, int_out), 0.05, -128, model.spec({3, 4})));
  EXPECT_THAT(operators(model),
              ElementsAre(XnnOperator::kConvert, XnnOperator::kFullyConnected, XnnOperator::kConvert));

  TestTensor input = random_tensor({3, 8}), expected{{3, 4}, std::vector<float>(12)};
  for (size_t i = 0; i < 3; ++i)
    for (size_t o = 0; o < 4; ++o) {
      double sum = bias[o];
      for (size_t k = 0; k < 8; ++k) {
        const double rounded = std::nearbyint(double{input.data[i * 8 + k]} * 128);
        sum += std::min(rounded, 127.0) / 128 * static_cast<int8_t>(weights[o * 8 + k]) * 0.01;
      }
      expected.data[i * 4 + o] = static_cast<float>(std::max(0.0, sum));
    }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected, 0.05f);  // one step
}

// A torchao 8da4w layer: rows of int8 at run time times 4-bit weights, one scale for each `group` of the 64
// inputs.
struct FourBitLayer {
  explicit FourBitLayer(int64_t group_size) : group(group_size) {}
  int64_t group;
  std::vector<int8_t> weights = std::vector<int8_t>(6 * 64);
  std::vector<float> scales;

  void add_to(Model& model) {
    Builder& builder = model.builder();
    const int64_t group_count = 64 / group;
    const uint32_t x = model.input({3, 64}), w = model.constant_int8({6, 64}, weights),
                   ws = model.constant({6, group_count}, scales),
                   wz = model.constant_int8({6, group_count},
                                            std::vector<int8_t>(static_cast<size_t>(6 * group_count), 0));
    const auto dtype = [](const char* name) {
      return graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, name);
    };
    GraphBuilder& graph = builder.graph(0);
    const uint32_t row_scales = builder.add_spec({ETB_DTYPE_FLOAT32, {3}}),
                   row_zeros = builder.add_spec({ETB_DTYPE_INT8, {3}}),
                   integers = builder.add_spec({ETB_DTYPE_INT8, {3, 64}});
    const uint32_t s =
        graph.add_node({.op = "torchao.choose_qparams_affine.default",
                        .args = {arg(x, "input"), graph::string_arg("ASYMMETRIC", "mapping_type"),
                                 graph::ints_arg({1, 64}, "block_size"), dtype("target_dtype"),
                                 graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max")},
                        .outputs = {graph::tensor("s", row_scales), graph::tensor("z", row_zeros)}});
    const auto rows = [&](const char* op, uint32_t from, const char* dtype_name, uint32_t spec) {
      return graph.add_node({.op = "torchao." + std::string(op) + "_affine.default",
                             .args = {arg(from, "input"), graph::ints_arg({1, 64}, "block_size"),
                                      arg(s, "scale"), arg(s + 1, "zero_point"), dtype(dtype_name),
                                      graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max")},
                             .outputs = {graph::tensor(op, spec)}});
    };
    const uint32_t dx =
        rows("dequantize", rows("quantize", x, "output_dtype", integers), "input_dtype", model.spec({3, 64}));
    const uint32_t dw =
        graph.add_node({.op = "torchao.dequantize_affine.default",
                        .args = {arg(w, "input"), graph::ints_arg({1, group}, "block_size"), arg(ws, "scale"),
                                 arg(wz, "zero_point"), dtype("input_dtype"), graph::int_arg(-8, "quant_min"),
                                 graph::int_arg(7, "quant_max")},
                        .outputs = {graph::tensor("dw", model.spec({6, 64}))}});
    model.output(model.node("aten.linear.default", {arg(dx, "input"), arg(dw, "weight")}, {3, 6}));
  }
};

class XnnpackFourBits : public XnnpackCompile, public testing::WithParamInterface<int64_t> {};

TEST_P(XnnpackFourBits, GroupsOfWeightsAreOneLayer) {
  FourBitLayer layer(GetParam());
  for (int8_t& weight : layer.weights) weight = static_cast<int8_t>(static_cast<int>(generator_() % 16) - 8);
  for (int64_t i = 0; i < 6 * 64 / layer.group; ++i)  // representable in bfloat16
    layer.scales.push_back(0.125f * static_cast<float>(1 + i % 3));
  Model model;
  layer.add_to(model);
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kConvert, XnnOperator::kFullyConnected));
  TestTensor input = random_tensor({3, 64}), expected{{3, 6}, std::vector<float>(18)};
  for (size_t i = 0; i < 3; ++i)
    for (size_t o = 0; o < 6; ++o)
      for (size_t k = 0; k < 64; ++k) {
        const size_t place = o * 64 + k;
        expected.data[i * 6 + o] += input.data[i * 64 + k] * static_cast<float>(layer.weights[place]) *
                                    layer.scales[place / static_cast<size_t>(layer.group)];
      }
  TestTensor found = expected;
  run(model, {input}, found);
  // A row of int8 is off by half a step of 2/255 at most. There are 64 random errors times weights up to 8 *
  // 0.375.
  expect_near(found, expected, 0.2f);
}

INSTANTIATE_TEST_SUITE_P(Groups, XnnpackFourBits, testing::Values(32, 64));

TEST_F(XnnpackCompile, EveryRefusalHasItsReason) {
  Model model;
  const uint32_t x = model.input({4, 6}), mask = model.input({4, 6});
  const uint32_t w = model.input({6, 6});
  model.output(model.node("aten.erf.default", {arg(x, "self")}, {4, 6}));
  model.output(model.node("aten.slice_copy.Tensor",
                          {arg(x, "self"), graph::int_arg(1, "dim"), graph::int_arg(0, "start"),
                           graph::int_arg(6, "end"), graph::int_arg(4, "step")},
                          {4, 2}));
  model.output(
      model.node("aten.pow.Tensor_Scalar", {arg(x, "self"), graph::float_arg(2.5, "exponent")}, {4, 6}));
  model.output(model.node("aten.addmm.default", {arg(mask, "self"), arg(x, "mat1"), arg(w, "mat2")}, {4, 6}));
  const auto answers = claims(model.image());
  EXPECT_THAT(answers.at(0), HasSubstr("op: aten.erf.default"));
  EXPECT_THAT(answers.at(1), HasSubstr("attribute: step: 4 from 0 on leaves"));
  EXPECT_THAT(answers.at(2), HasSubstr("attribute: exponent"));
  EXPECT_THAT(answers.at(3), HasSubstr(".constant: self"));
  Compiled made;
  EXPECT_EQ(compile(model.image(), made), ETB_NOT_SUPPORTED);
  EXPECT_THAT(error_.text, HasSubstr("node 0"));
}

TEST_F(XnnpackCompile, AttributesThatOnlySeemToFitAreRefused) {
  Model model;
  const uint32_t x = model.input({6, 5}), image = model.input({1, 1, 4, 4});
  const uint32_t w = model.constant({5, 6}, std::vector<float>(30, 1)),
                 b = model.constant({6, 1}, {1, 2, 3, 4, 5, 6});
  const uint32_t filter = model.constant({1, 1, 2, 2}, {1, 2, 3, 4});
  model.output(model.node("aten.addmm.default", {arg(b, "self"), arg(x, "mat1"), arg(w, "mat2")}, {6, 6}));
  model.output(model.node("aten.convolution.default",
                          {arg(image, "input"), arg(filter, "weight"), graph::none_arg("bias"),
                           graph::ints_arg({1, 1}, "stride"), graph::ints_arg({0, 0}, "padding"),
                           graph::ints_arg({2, 2}, "dilation"), graph::bool_arg(true, "transposed"),
                           graph::ints_arg({1, 0}, "output_padding"), graph::int_arg(1, "groups")},
                          {1, 1, 7, 6}));
  const auto answers = claims(model.image());
  EXPECT_THAT(answers.at(0), HasSubstr("attribute: self: expected one element an output"));
  EXPECT_THAT(answers.at(1), HasSubstr("attribute: output_padding: 1, expected less than the stride"));
}

TEST_F(XnnpackCompile, AMeanWithADivisorCountsPadding) {
  Model model;
  const uint32_t x = model.input({1, 1, 2, 2});
  model.output(
      model.node("aten.avg_pool2d.default",
                 {arg(x, "self"), graph::ints_arg({2, 2}, "kernel_size"), graph::ints_arg({2, 2}, "stride"),
                  graph::ints_arg({1, 1}, "padding"), graph::bool_arg(false, "ceil_mode"),
                  graph::bool_arg(false, "count_include_pad"), graph::int_arg(4, "divisor_override")},
                 {1, 1, 2, 2}));
  TestTensor found{{1, 1, 2, 2}, std::vector<float>(4)};
  run(model, {{{1, 1, 2, 2}, {4, 8, 12, 16}}}, found);
  EXPECT_THAT(found.data, ElementsAre(1, 2, 3, 4));
}

// XNNPACK aborts on a node whose only reader it removed.
TEST_F(XnnpackCompile, APayloadMayHaveNodesThatNobodyNeeds) {
  XnnPayload payload;
  payload.constants.emplace_back();
  for (uint32_t id = 0; id < 4; ++id) payload.values.push_back(value_of(id, {4}));
  payload.values[0].is_input = payload.values[3].is_output = true;
  payload.values[0].external_id = 0;
  payload.values[3].external_id = 1;
  payload.nodes = {node_of(XnnOperator::kAbs, {0}, 1), node_of(XnnOperator::kNegate, {1}, 2),
                   node_of(XnnOperator::kSquare, {0}, 3)};
  payload.input_ids = {0};
  payload.output_ids = {3};
  const auto bytes = write_xnnpack_payload(payload);
  const PayloadArguments given(bytes);
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(table_->delegate->create(plugin_, &given.args, &delegate, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
}

TEST_F(XnnpackCompile, TensorsWithoutElementsAreRefused) {
  Model model;
  const uint32_t a = model.input({2, 0}), b = model.input({0, 3}), bias = model.input({3});
  const uint32_t batch = model.input({0, 2, 2}), scalar = model.input({1});
  model.output(model.node("aten.mm.default", {arg(a, "self"), arg(b, "mat2")}, {2, 3}));
  model.output(model.node("aten.addmm.default", {arg(bias, "self"), arg(a, "mat1"), arg(b, "mat2")}, {2, 3}));
  model.output(model.node("aten.bmm.default", {arg(batch, "self"), arg(batch, "mat2")}, {0, 2, 2}));
  model.output(model.node("aten.add.Tensor", {arg(a, "self"), arg(scalar, "other")}, {2, 0}));
  const auto answers = claims(model.image());
  ASSERT_EQ(answers.size(), 4u);
  for (const auto& [node, answer] : answers)
    EXPECT_THAT(answer, HasSubstr("org.etbackend.xnnpack.empty: ")) << "node " << node;
}

TEST_F(XnnpackCompile, DynamicSizesRunAtEverySize) {
  Model model;
  Builder& builder = model.builder();
  const uint32_t s = builder.add_symbol_expr(builder.add_symbol({.name = "s0", .min = 1, .max = 8}));
  const uint32_t in = builder.add_spec({ETB_DTYPE_FLOAT32, {8, 5}, {}, {{0, 1, s}}});
  const uint32_t out = builder.add_spec({ETB_DTYPE_FLOAT32, {8, 7}, {}, {{0, 1, s}}});
  GraphBuilder& graph = builder.graph(0);
  const uint32_t x = graph.add_input(graph::tensor("x", in));
  const TestTensor weight = random_tensor({7, 5});
  const uint32_t w = model.constant({7, 5}, weight.data);
  graph.add_output(graph.add_node({.op = "aten.linear.default",
                                   .args = {arg(x, "input"), arg(w, "weight")},
                                   .outputs = {graph::tensor("y", out)}}));
  for (const int64_t rows : {3, 8, 1}) {
    TestTensor input = random_tensor({rows, 5}),
               expected{{rows, 7}, std::vector<float>(static_cast<size_t>(rows) * 7)};
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
      for (size_t o = 0; o < 7; ++o)
        for (size_t k = 0; k < 5; ++k)
          expected.data[i * 7 + o] += input.data[i * 5 + k] * weight.data[o * 5 + k];
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected);
  }
}

}  // namespace
}  // namespace etb::xnnpack
