// SPDX-License-Identifier: Apache-2.0
// Tests int8 graphs beyond plain layers: numbers beside tensors, scales that XNNPACK rejects, dynamically
// quantised inputs.
#include "plugins/xnnpack/testing/compile_fixture.hpp"

namespace etb::xnnpack {
namespace {

// Adds the nodes of quantisation.
class QuantisedModel : public Model {
 public:
  uint32_t quantize(uint32_t from, const std::vector<int64_t>& sizes, double scale, int64_t zero_point) {
    return convert("quantize", from, scale, zero_point, builder().add_spec({ETB_DTYPE_INT8, sizes}));
  }
  uint32_t dequantize(uint32_t from, const std::vector<int64_t>& sizes, double scale, int64_t zero_point) {
    return convert("dequantize", from, scale, zero_point, spec(sizes));
  }
  uint32_t through_int8(uint32_t from, const std::vector<int64_t>& sizes, double scale, int64_t zero_point) {
    return dequantize(quantize(from, sizes, scale, zero_point), sizes, scale, zero_point);
  }
  // Dequantises a constant of int8 with one scale for each index along `axis`.
  uint32_t dequantize_by_channel(uint32_t codes, const std::vector<int64_t>& sizes, uint32_t scales,
                                 uint32_t zero_points, int64_t axis) {
    return graph().add_node(
        {.op = "quantized_decomposed.dequantize_per_channel.default",
         .args = {arg(codes, "input"), arg(scales, "scales"), arg(zero_points, "zero_points"),
                  graph::int_arg(axis, "axis"), graph::int_arg(-128, "quant_min"),
                  graph::int_arg(127, "quant_max"), dtype()},
         .outputs = {graph::tensor("c" + std::to_string(codes), spec(sizes))}});
  }
  // Adds the three nodes of a dynamically quantised tensor.
  uint32_t at_run_time(uint32_t from, const std::vector<int64_t>& sizes) {
    const uint32_t chosen = choose_qparams(from);
    const uint32_t integers = dynamic("quantize", from, chosen, builder().add_spec({ETB_DTYPE_INT8, sizes}));
    return dynamic("dequantize", integers, chosen, spec(sizes));
  }
  uint32_t choose_qparams(uint32_t from) {
    return graph().add_node(
        {.op = "quantized_decomposed.choose_qparams.tensor",
         .args = {arg(from, "input"), graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max"),
                  graph::float_arg(1e-9, "eps"), dtype()},
         .outputs = {graph::tensor("s" + std::to_string(from), spec({1})),
                     graph::tensor("z" + std::to_string(from), builder().add_spec({ETB_DTYPE_INT64, {1}}))}});
  }

 private:
  GraphBuilder& graph() { return builder().graph(0); }
  static ArgumentDesc dtype() { return graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype"); }
  uint32_t convert(const std::string& op, uint32_t from, double scale, int64_t zero_point, uint32_t of) {
    return graph().add_node(
        {.op = "quantized_decomposed." + op + "_per_tensor.default",
         .args = {arg(from, "input"), graph::float_arg(scale, "scale"),
                  graph::int_arg(zero_point, "zero_point"), graph::int_arg(-128, "quant_min"),
                  graph::int_arg(127, "quant_max"), dtype()},
         .outputs = {graph::tensor(op + std::to_string(from), of)}});
  }
  uint32_t dynamic(const std::string& op, uint32_t from, uint32_t chosen, uint32_t of) {
    return graph().add_node(
        {.op = "quantized_decomposed." + op + "_per_tensor.tensor",
         .args = {arg(from, "input"), arg(chosen, "scale"), arg(chosen + 1, "zero_point"),
                  graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max"), dtype()},
         .outputs = {graph::tensor("d" + op + std::to_string(from), of)}});
  }
};

using XnnpackQuantised = XnnpackCompile;

TEST_F(XnnpackQuantised, ANumberIsAddedAsInt8) {
  QuantisedModel model;
  const uint32_t x = model.input({2, 5});
  const uint32_t number = model.dequantize(model.constant_int8({}, {127}), {}, 0.01, -123);  // 2.5
  const uint32_t sum =
      model.node("aten.add.Tensor",
                 {arg(model.through_int8(x, {2, 5}, 1.0 / 128, 0), "self"), arg(number, "other")}, {2, 5});
  model.output(model.through_int8(sum, {2, 5}, 1.0 / 32, -60));
  EXPECT_THAT(operators(model), ElementsAre(XnnOperator::kConvert, XnnOperator::kAdd, XnnOperator::kConvert));
  TestTensor input = random_tensor({2, 5}), expected = input, found = input;
  for (float& value : expected.data) value += 2.5f;
  run(model, {input}, found);
  expect_near(found, expected, 1.0f / 32);
}

// The attempt on integers fails after it has defined its result. The attempt on floats must not find that
// definition.
TEST_F(XnnpackQuantised, ScalesTooFarApartAreAddedAsFloats) {
  QuantisedModel model;
  const uint32_t x = model.input({4}), y = model.input({4});
  const uint32_t sum = model.node("aten.add.Tensor",
                                  {arg(model.through_int8(x, {4}, 1.0 / 128, 0), "self"),
                                   arg(model.through_int8(y, {4}, 1e-6, 0), "other")},
                                  {4});
  model.output(model.through_int8(sum, {4}, 1.0 / 64, 0));
  EXPECT_EQ(operators(model).size(), 7u);  // five more conversions around the sum
  TestTensor input = random_tensor({4}), small{{4}, {1e-5f, 2e-5f, -1e-5f, 0}}, found = input;
  run(model, {input, small}, found);
  expect_near(found, input, 1.0f / 64);
}

// A node that moves values may be the last of a region. It hands integers on, but its result crosses the border as
// floats.
TEST_F(XnnpackQuantised, AResultThatIsMovedAsIntegersLeavesAsFloats) {
  QuantisedModel model;
  const uint32_t x = model.input({2, 6});
  model.output(model.node(
      "aten.view_copy.default",
      {arg(model.through_int8(x, {2, 6}, 1.0 / 128, 0), "self"), graph::ints_arg({3, 4}, "size")}, {3, 4}));
  const TestTensor input = random_tensor({2, 6});
  TestTensor expected{{3, 4}, input.data}, found = expected;
  run(model, {input}, found);
  expect_near(found, expected, 1.0f / 128);
}

// The scale of the padded tensor represents numbers up to 0.99 only.
TEST_F(XnnpackQuantised, PaddingWithANumberIsAddedToFloats) {
  QuantisedModel model;
  const uint32_t x = model.input({2, 3});
  model.output(model.node("aten.constant_pad_nd.default",
                          {arg(model.through_int8(x, {2, 3}, 1.0 / 128, 0), "self"),
                           graph::ints_arg({0, 1}, "pad"), graph::float_arg(2.5, "value")},
                          {2, 4}));
  const TestTensor input = random_tensor({2, 3});
  TestTensor expected{{2, 4}, {}}, found{{2, 4}, std::vector<float>(8)};
  for (size_t row = 0; row < 2; ++row) {
    for (size_t i = 0; i < 3; ++i) expected.data.push_back(input.data[row * 3 + i]);
    expected.data.push_back(2.5f);
  }
  run(model, {input}, found);
  expect_near(found, expected, 1.0f / 128);
  EXPECT_EQ(found.data[3], 2.5f);
}

TEST_F(XnnpackQuantised, AConvolutionTakesAnInputQuantisedAtRunTime) {
  constexpr size_t kSize = 6, kInputs = 3, kOutputs = 4;
  QuantisedModel model;
  const uint32_t x = model.input({1, kInputs, kSize, kSize});
  std::vector<int8_t> weights(kOutputs * kInputs * 9);
  for (int8_t& weight : weights) weight = static_cast<int8_t>(generator_());
  const uint32_t w = model.dequantize(model.constant_int8({kOutputs, kInputs, 3, 3}, weights),
                                      {kOutputs, kInputs, 3, 3}, 0.01, 0);
  const uint32_t rows = model.at_run_time(x, {1, kInputs, kSize, kSize});
  const uint32_t padded =
      model.node("aten.constant_pad_nd.default",
                 {arg(rows, "self"), graph::ints_arg({0, 1}, "pad"), graph::float_arg(0, "value")},
                 {1, kInputs, kSize, kSize + 1});
  model.output(model.node("aten.convolution.default",
                          {arg(padded, "input"), arg(w, "weight"), graph::ints_arg({1, 1}, "stride"),
                           graph::ints_arg({1, 1}, "padding"), graph::ints_arg({1, 1}, "dilation"),
                           graph::bool_arg(false, "transposed"), graph::ints_arg({0, 0}, "output_padding"),
                           graph::int_arg(1, "groups")},
                          {1, kOutputs, kSize, kSize + 1}));
  EXPECT_THAT(operators(model),
              ElementsAre(XnnOperator::kConstantPad, XnnOperator::kStaticTranspose, XnnOperator::kConvert,
                          XnnOperator::kConv2d, XnnOperator::kStaticTranspose));
  TestTensor input = random_tensor({1, kInputs, kSize, kSize});
  TestTensor expected{{1, kOutputs, kSize, kSize + 1}, std::vector<float>(kOutputs * kSize * (kSize + 1))};
  for (size_t o = 0; o < kOutputs; ++o)
    for (size_t row = 0; row < kSize; ++row)
      for (size_t column = 0; column <= kSize; ++column) {
        float& sum = expected.data[(o * kSize + row) * (kSize + 1) + column];
        for (size_t k = 0; k < kInputs * 9; ++k) {
          const size_t y = row + k / 3 % 3, z = column + k % 3;  // one more, for the padding
          if (y < 1 || z < 1 || y > kSize || z > kSize) continue;
          sum += input.data[(k / 9 * kSize + y - 1) * kSize + z - 1] *
                 static_cast<float>(weights[o * kInputs * 9 + k]) * 0.01f;
        }
      }
  TestTensor found = expected;
  run(model, {input}, found);
  expect_near(found, expected, 0.15f);  // 27 roundings by up to half of 2/255, times weights up to 1.28
}

TEST_F(XnnpackQuantised, WhatIsQuantisedAtRunTimeForNobodyIsRejected) {
  QuantisedModel model;
  const uint32_t x = model.input({2, 4});
  const uint32_t rows = model.at_run_time(x, {2, 4});
  model.output(model.node("aten.relu.default", {arg(rows, "self")}, {2, 4}));
  const auto answers = claims(model.image());
  for (uint32_t node = 0; node < 3; ++node) EXPECT_THAT(answers.at(node), HasSubstr("quant: ")) << node;
  EXPECT_EQ(answers.at(3), "");
}

// XNNPACK's integer layers have a scale an output. A square weight with a scale an input has as many.
TEST_F(XnnpackQuantised, AWeightWithAScaleAnInputIsMultipliedAsFloats) {
  constexpr size_t kSize = 4;
  const std::vector<float> scales = {0.01f, 0.02f, 0.03f, 0.04f};
  for (const int64_t axis : {0, 1}) {
    QuantisedModel model;
    std::vector<int8_t> codes(kSize * kSize);
    for (int8_t& code : codes) code = static_cast<int8_t>(generator_());
    const uint32_t x = model.input({2, kSize}), w = model.constant_int8({kSize, kSize}, codes),
                   s = model.constant({kSize}, scales), z = model.constant({kSize}, {0, 0, 0, 0});
    const uint32_t weight = model.dequantize_by_channel(w, {kSize, kSize}, s, z, axis);
    const uint32_t y = model.node(
        "aten.linear.default",
        {arg(model.through_int8(x, {2, kSize}, 1.0 / 128, 0), "input"), arg(weight, "weight")}, {2, kSize});
    model.output(model.through_int8(y, {2, kSize}, 0.1, 0));
    const TestTensor input = random_tensor({2, kSize});
    TestTensor expected{{2, kSize}, std::vector<float>(2 * kSize)};
    for (size_t i = 0; i < 2; ++i)
      for (size_t o = 0; o < kSize; ++o)
        for (size_t k = 0; k < kSize; ++k)
          expected.data[i * kSize + o] += input.data[i * kSize + k] *
                                          static_cast<float>(codes[o * kSize + k]) *
                                          scales[axis == 0 ? o : k];
    TestTensor found = expected;
    run(model, {input}, found);
    // Half a step of the result, and half a step of each input times a weight of up to 5.12.
    expect_near(found, expected, 0.05f + kSize * 0.5f / 128 * 5.12f);
  }
}

// The scale of the result is larger than those of the operands.
TEST_F(XnnpackQuantised, ResultsOfRankOneAndZeroHaveTheirOwnScale) {
  QuantisedModel row, number;
  const uint32_t x = row.input({4}), codes = row.constant_int8({2, 4}, {100, 100, 100, 100, -50, 50, 0, 0});
  const uint32_t weight = row.dequantize(codes, {2, 4}, 0.01, 0);
  const uint32_t y =
      row.node("aten.linear.default",
               {arg(row.through_int8(x, {4}, 1.0 / 128, 0), "input"), arg(weight, "weight")}, {2});
  row.output(row.through_int8(y, {2}, 1.0 / 32, 0));
  TestTensor found{{2}, {0, 0}};
  run(row, {{{4}, {0.5f, 0.75f, 0.5f, 0.25f}}}, found);
  expect_near(found, {{2}, {2, 0.125f}}, 1.0f / 64);

  const uint32_t a = number.input({}), b = number.input({});
  const uint32_t sum = number.node("aten.add.Tensor",
                                   {arg(number.through_int8(a, {}, 1.0 / 128, 0), "self"),
                                    arg(number.through_int8(b, {}, 1.0 / 128, 0), "other")},
                                   {});
  number.output(number.through_int8(sum, {}, 1.0 / 32, 0));
  TestTensor total{{}, {0}};
  run(number, {{{}, {0.75f}}, {{}, {0.5f}}}, total);
  expect_near(total, {{}, {1.25f}}, 1.0f / 64);
}

// Returns what int8 with a scale and a zero point of 0 represents of a number.
float represented(double number, double scale) {
  return static_cast<float>(std::clamp(std::nearbyint(number / scale), -128.0, 127.0) * scale);
}

// XNNPACK's multipliers of codes have 16 bits, 8 of them after the point.
TEST_F(XnnpackQuantised, LeakyReluWithALargeMultiplierIsComputedOnFloats) {
  struct Case {
    double out_scale, slope;
  };
  for (const Case& c : {Case{0.05, 0.01}, {0.05 / 130, 0.01}, {0.05, 200}, {0.05, -200}}) {
    QuantisedModel model;
    const uint32_t x = model.input({8});
    const uint32_t y = model.node(
        "aten.leaky_relu.default",
        {arg(model.through_int8(x, {8}, 0.05, 0), "self"), graph::float_arg(c.slope, "negative_slope")}, {8});
    model.output(model.through_int8(y, {8}, c.out_scale, 0));
    const TestTensor input = random_tensor({8});
    TestTensor expected = input;
    for (float& value : expected.data) {
      const double in = represented(value, 0.05);
      value = represented(in > 0 ? in : in * c.slope, c.out_scale);
    }
    TestTensor found = expected;
    run(model, {input}, found);
    expect_near(found, expected, static_cast<float>(1.01 * c.out_scale));
  }
}

// XNNPACK rejects layers whose products are multiplied by 256 or more.
TEST_F(XnnpackQuantised, ALayerWithALargeMultiplierIsComputedOnFloats) {
  constexpr double kIn = 0.2, kWeight = 0.1, kOut = 1e-5;
  for (const int64_t groups : {0, 1, 2}) {  // 0: a linear layer
    for (const bool has_scale_by_channel : {false, true}) {
      QuantisedModel model;
      const std::vector<int64_t> in =
          groups == 0 ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{1, 2, 1, 3};
      const int64_t width = groups == 2 ? 1 : 2;  // inputs of an output
      const std::vector<int64_t> sizes =
          groups == 0 ? std::vector<int64_t>{2, width} : std::vector<int64_t>{2, width, 1, 1};
      const std::vector<int8_t> codes = {3, -7, 11, 5};
      const uint32_t x = model.input(in),
                     w = model.constant_int8(sizes, {codes.begin(), codes.begin() + 2 * width}),
                     s = model.constant({2}, {kOut, kWeight}), z = model.constant({2}, {0, 0});
      const uint32_t weight = has_scale_by_channel ? model.dequantize_by_channel(w, sizes, s, z, 0)
                                                   : model.dequantize(w, sizes, kWeight, 0);
      const uint32_t rows = model.through_int8(x, in, kIn, 0);
      const uint32_t y =
          groups == 0
              ? model.node("aten.linear.default", {arg(rows, "input"), arg(weight, "weight")}, in)
              : model.node("aten.convolution.default",
                           {arg(rows, "input"), arg(weight, "weight"), graph::none_arg("bias"),
                            graph::ints_arg({1, 1}, "stride"), graph::ints_arg({0, 0}, "padding"),
                            graph::ints_arg({1, 1}, "dilation"), graph::bool_arg(false, "transposed"),
                            graph::ints_arg({0, 0}, "output_padding"), graph::int_arg(groups, "groups")},
                           in);
      model.output(model.through_int8(y, in, kOut, 0));
      TestTensor input = random_tensor(in), expected = input;
      input.data[0] = 0;
      const size_t pixel = groups == 0 ? 2 : 1, channel = groups == 0 ? 1 : 3;  // distances in elements
      for (size_t i = 0; i < 3; ++i)
        for (size_t o = 0; o < 2; ++o) {
          double sum = 0;
          for (size_t k = 0; k < static_cast<size_t>(width); ++k)
            sum += represented(input.data[i * pixel + (groups == 2 ? o : k) * channel], kIn) *
                   codes[o * static_cast<size_t>(width) + k] *
                   (has_scale_by_channel && o == 0 ? kOut : kWeight);
          expected.data[i * pixel + o * channel] = represented(sum, kOut);
        }
      TestTensor found = expected;
      run(model, {input}, found);
      expect_near(found, expected, static_cast<float>(1.01 * kOut));
    }
  }
}

}  // namespace
}  // namespace etb::xnnpack
