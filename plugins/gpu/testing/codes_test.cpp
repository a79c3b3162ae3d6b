// SPDX-License-Identifier: Apache-2.0
// Products and convolutions with weights of codes and of float16, on the machine's device, compared with sums in float64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/gpu/plan/codes.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

// The numbers of a constant of float16, or of one that add_codes() made.
std::vector<float> decoded(const GpuGraph& graph, uint32_t id) {
  const GpuValue& value = graph.value(id);
  std::vector<float> numbers(value.shape.numel());
  if (value.host == HostNumbers::kHalves) {
    read_numbers(random_halves(numbers.size()).data(), ETB_DTYPE_FLOAT16, numbers);
    return numbers;
  }
  const std::vector<int8_t> codes = random_codes(numbers.size(), value.codes.bits == 4 ? 8 : 128);
  const std::vector<float> scales = random_floats(graph.value(value.codes.scales).shape.numel());
  decode({value, scales, value.codes.zero_points == kNoValue ? std::vector<float>() : scales,
          std::as_bytes(std::span(codes))},
         numbers);
  return numbers;
}

struct Sum {
  double value = 0, magnitude = 0;  // of all terms
};

// Sums of `terms` products in float32, in any order. The decoded factor has two roundings of its own.
void expect_sums(const std::vector<float>& found, const std::vector<Sum>& expected, size_t terms) {
  ASSERT_EQ(found.size(), expected.size());
  const double unit = std::ldexp(static_cast<double>(terms) + 3, -24);
  double largest = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i].value, unit * expected[i].magnitude) << i;
    largest = std::max(largest, std::abs(expected[i].value));
  }
  EXPECT_GT(largest, 1);
}

struct ProductSizes {
  uint32_t rows, depth, columns, group;
};

GpuGraph product_graph(const ProductSizes& sizes, uint32_t bits, bool is_transposed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({sizes.rows, sizes.depth}));
  const Shape shape =
      is_transposed ? shape_of({sizes.columns, sizes.depth}) : shape_of({sizes.depth, sizes.columns});
  const uint32_t b = bits == 16 ? add_constant(graph, shape, "0/" + std::to_string(shape.numel()))
                                : add_codes(graph, shape, bits, is_transposed ? 0 : 1,
                                            is_transposed ? sizes.group : 0, sizes.depth % 2 == 0);
  if (bits == 16) graph.values[b].host = HostNumbers::kHalves;
  const uint32_t bias = add_constant(graph, shape_of({sizes.columns}), std::to_string(sizes.columns));
  graph.outputs.push_back(add_node(graph, Operator::kMatmul, {a, b, bias}, {is_transposed ? 1 : 0},
                                   {1, 1, -kInfinity, kInfinity}));
  return graph;
}

std::vector<Sum> expected_product(const GpuGraph& graph, const ProductSizes& sizes, bool is_transposed) {
  const GpuNode& node = graph.nodes[0];
  const std::vector<float> a = random_floats(sizes.rows * sizes.depth), b = decoded(graph, node.inputs[1]),
                           bias = random_floats(sizes.columns);
  std::vector<Sum> sums;
  for (size_t r = 0; r < sizes.rows; ++r) {
    for (size_t c = 0; c < sizes.columns; ++c) {
      Sum& sum = sums.emplace_back(Sum{bias[c], std::abs(bias[c])});
      for (size_t k = 0; k < sizes.depth; ++k) {
        const double term =
            double{a[r * sizes.depth + k]} * b[is_transposed ? c * sizes.depth + k : k * sizes.columns + c];
        sum.value += term;
        sum.magnitude += std::abs(term);
      }
    }
  }
  return sums;
}

void test_product(const ProductSizes& sizes, uint32_t bits, bool is_transposed, const char* kernels) {
  const GpuGraph graph = product_graph(sizes, bits, is_transposed);
  FloatRun run(graph, shape_of({sizes.rows, sizes.columns}), kernels);
  if (!run.run()) GTEST_SKIP() << run.error();
  expect_sums(run.output(), expected_product(graph, sizes, is_transposed), sizes.depth);
}

void test_products(uint32_t bits) {
  const ProductSizes all[] = {{17, 64, 40, 32},  {1, 7, 5, 7},      {5, 33, 36, 11},
                              {9, 96, 67, 3},    {3, 12, 3, 1},     {20, 40, 1, 8},
                              {2, 130, 131, 65}, {260, 20, 530, 10}};  // tiles of 64 rows
  for (const ProductSizes& sizes : all) {
    for (const bool is_transposed : {true, false}) {
      for (const char* const kernels : {"auto", "groups"}) {
        SCOPED_TRACE("sizes " + std::to_string(&sizes - all) + (is_transposed ? " transposed " : " ") +
                     kernels);
        test_product(sizes, bits, is_transposed, kernels);
        if (bits == 16) continue;
        ProductSizes whole = sizes;
        whole.group = 0;
        test_product(whole, bits, is_transposed, kernels);
      }
    }
  }
}

TEST(WeightsOfHalves, Products) { test_products(16); }
TEST(WeightsOfCodes, ProductsOfEightBits) { test_products(8); }
TEST(WeightsOfCodes, ProductsOfFourBits) { test_products(4); }

// Products of one term show each number.
TEST(WeightsOfHalves, AreReadExactly) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr uint32_t kCount = kSpecialHalves.size();
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({1, 1})),
                 b = add_constant(graph, shape_of({1, kCount}), "-1/" + std::to_string(kCount));
  graph.values[b].host = HostNumbers::kHalves;
  graph.outputs.push_back(add_node(graph, Operator::kMatmul, {a, b}, {0}, {1, 1, -kInfinity, kInfinity}));
  std::vector<float> numbers(kCount);
  read_numbers(std::as_bytes(std::span(kSpecialHalves)).data(), ETB_DTYPE_FLOAT16, numbers);
  for (const char* const kernels : {"registers", "groups"}) {
    SCOPED_TRACE(kernels);
    FloatRun run(graph, shape_of({1, kCount}), kernels);
    if (!run.run()) GTEST_SKIP() << run.error();
    for (size_t i = 0; i + 1 < kCount; ++i) EXPECT_EQ(run.output()[i], random_floats(1)[0] * numbers[i]) << i;
    EXPECT_TRUE(std::isnan(run.output()[kCount - 1]));
  }
}

TEST(WeightsOfHalves, TakeHalfOfTheMemory) {
  constexpr uint32_t kSize = 64;
  const GpuGraph graph = product_graph({4, kSize, kSize, 0}, 16, true);
  FloatRun run(graph, shape_of({4, kSize}), "auto");
  if (!run.is_ready()) GTEST_SKIP() << run.error();
  EXPECT_EQ(run.resident_bytes(), kSize * kSize * 2 + kSize * sizeof(float));
}

TEST(WeightsOfCodes, TakeAQuarterOfTheMemory) {
  constexpr uint32_t kSize = 256;
  GpuGraph floats;
  const uint32_t a = add_input(floats, shape_of({4, kSize})),
                 b = add_constant(floats, shape_of({kSize, kSize}), std::to_string(kSize * kSize));
  floats.outputs.push_back(add_linear(floats, a, b));
  FloatRun plain(floats, shape_of({4, kSize}), "auto");
  if (!plain.is_ready()) GTEST_SKIP() << plain.error();
  ASSERT_EQ(plain.resident_bytes(), kSize * kSize * sizeof(float));
  for (const uint32_t bits : {8u, 4u}) {
    GpuGraph codes;
    const uint32_t x = add_input(codes, shape_of({4, kSize})),
                   y = add_codes(codes, shape_of({kSize, kSize}), bits, 0, 0, false);
    codes.outputs.push_back(add_linear(codes, x, y));
    FloatRun run(codes, shape_of({4, kSize}), "auto");
    ASSERT_TRUE(run.run()) << run.error();
    // Codes, then a scale and a zero point for each column.
    EXPECT_EQ(run.resident_bytes(), kSize * kSize * bits / 8 + 2 * kSize * sizeof(float));
  }
}

struct CodedWindow {
  uint32_t inputs, channels, groups, size, kernel;
  int32_t stride, padding;
};

std::vector<Sum> expected_convolution(const GpuGraph& graph, const CodedWindow& w, uint32_t out) {
  const uint32_t inputs = w.inputs / w.groups, channels = w.channels / w.groups;
  const std::vector<float> x = random_floats(size_t{2} * w.inputs * w.size * w.size),
                           filters = decoded(graph, graph.nodes[0].inputs[1]);
  std::vector<Sum> sums;
  for (uint32_t n = 0; n < 2 * w.channels * out * out; ++n) {
    const uint32_t column = n % out, row = n / out % out, channel = n / (out * out) % w.channels,
                   image = n / (out * out * w.channels);
    Sum& sum = sums.emplace_back();
    for (uint32_t t = 0; t < inputs * w.kernel * w.kernel; ++t) {
      const uint32_t kx = t % w.kernel, ky = t / w.kernel % w.kernel, i = t / (w.kernel * w.kernel);
      const int64_t at_y = int64_t{row} * w.stride + ky - w.padding,
                    at_x = int64_t{column} * w.stride + kx - w.padding;
      if (at_y < 0 || at_y >= w.size || at_x < 0 || at_x >= w.size) continue;
      const size_t plane = size_t{image} * w.inputs + channel / channels * inputs + i;
      const double term =
          double{x[(plane * w.size + static_cast<size_t>(at_y)) * w.size + static_cast<size_t>(at_x)]} *
          filters[size_t{channel} * inputs * w.kernel * w.kernel + t];
      sum.value += term;
      sum.magnitude += std::abs(term);
    }
  }
  return sums;
}

TEST(WeightsOfCodes, Convolutions) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const CodedWindow windows[] = {{3, 20, 1, 9, 3, 2, 1}, {8, 12, 1, 7, 1, 1, 0},   {6, 4, 2, 9, 3, 1, 1},
                                 {5, 5, 5, 8, 3, 1, 1},  {18, 18, 18, 6, 2, 1, 0}, {10, 40, 2, 5, 1, 1, 0}};
  for (const CodedWindow& w : windows) {
    for (const uint32_t bits : {8u, 4u}) {
      SCOPED_TRACE("window " + std::to_string(&w - windows) + ", bits " + std::to_string(bits));
      const uint32_t padded = w.size + 2 * static_cast<uint32_t>(w.padding),
                     out = (padded - w.kernel) / static_cast<uint32_t>(w.stride) + 1;
      GpuGraph graph;
      const uint32_t x = add_input(graph, shape_of({2, w.inputs, w.size, w.size}));
      const uint32_t weight =
          add_codes(graph, shape_of({w.channels, w.inputs / w.groups, w.kernel, w.kernel}), bits, 0);
      graph.outputs.push_back(
          add_node(graph, Operator::kConvolution, {x, weight},
                   {w.stride, w.stride, w.padding, w.padding, 1, 1, static_cast<int32_t>(w.groups)},
                   {-kInfinity, kInfinity}));
      FloatRun run(graph, shape_of({2, w.channels, out, out}), "auto");
      if (!run.run()) GTEST_SKIP() << run.error();
      expect_sums(run.output(), expected_convolution(graph, w, out),
                  size_t{w.inputs / w.groups} * w.kernel * w.kernel);
    }
  }
}

// A norm after a convolution of codes is not folded, since its filters would become floats.
TEST(WeightsOfCodes, StayCodesBeforeABatchNorm) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 4, 6, 6})),
                 weight = add_codes(graph, shape_of({8, 4, 1, 1}), 8, 0),
                 numbers = add_constant(graph, shape_of({8}), "8");
  const uint32_t made =
      add_node(graph, Operator::kConvolution, {x, weight}, {1, 1, 0, 0, 1, 1, 1}, {-kInfinity, kInfinity});
  graph.outputs.push_back(
      add_node(graph, Operator::kBatchNorm, {made, numbers, numbers, numbers, numbers}, {}, {2}));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->graph.nodes.size(), 2u);
  EXPECT_NE(plan->graph.value(weight).factors, kNoValue);
}

}  // namespace
}  // namespace etb::gpu
