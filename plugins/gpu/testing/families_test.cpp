// SPDX-License-Identifier: Apache-2.0
// Compares the kernel families with "registers", which every device has: "groups", and "auto", those that suit the device.
#include <gtest/gtest.h>

#include <cmath>

#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

void expect_same(const GpuGraph& graph, const Shape& output, float tolerance) {
  FloatRun registers(graph, output, "registers");
  if (!registers.run()) GTEST_SKIP() << registers.error();
  for (const char* const kernels : {"groups", "auto"}) {
    SCOPED_TRACE(kernels);
    FloatRun other(graph, output, kernels);
    ASSERT_TRUE(other.run()) << other.error();
    ASSERT_EQ(registers.output().size(), other.output().size());
    float largest = 0;
    for (size_t i = 0; i < registers.output().size(); ++i) {
      ASSERT_NEAR(registers.output()[i], other.output()[i], tolerance) << i;
      largest = std::max(largest, std::abs(registers.output()[i]));
    }
    EXPECT_GT(largest, 0.1f);
  }
}

TEST(KernelFamilies, ComputeTheSameProducts) {
  for (const auto& [rows, depth, columns] : {std::array{17u, 64u, 40u},
                                             {16u, 12u, 32u},
                                             {3u, 7u, 5u},
                                             {40u, 30u, 49u},
                                             {1u, 128u, 100u},
                                             {9u, 20u, 23u},
                                             {2u, 300u, 36u},  // slices of the depth
                                             {3u, 81u, 35u},
                                             {300u, 40u, 512u},  // tiles of 64 rows
                                             {260u, 9u, 515u},
                                             {5u, 7u, 4099u}}) {
    SCOPED_TRACE(std::to_string(rows) + " " + std::to_string(depth) + " " + std::to_string(columns));
    GpuGraph graph;
    const uint32_t a = add_input(graph, shape_of({2, rows, depth})),
                   b = add_input(graph, shape_of({2, depth, columns}));
    graph.outputs.push_back(add_node(graph, Operator::kMatmul, {a, b}, {0}, {0.5f, 1, -3, 3}));
    expect_same(graph, shape_of({2, rows, columns}), 1e-4f);
  }
}

TEST(KernelFamilies, ComputeTheSameLinearLayers) {
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({20, 24})),
                 weight = add_constant(graph, shape_of({33, 24}), "792"),
                 bias = add_constant(graph, shape_of({33}), "33");
  graph.outputs.push_back(add_node(graph, Operator::kMatmul, {input, weight, bias}, {1}, {1, 2, -9, 9}));
  expect_same(graph, shape_of({20, 33}), 1e-4f);
}

// Products of few numbers with a constant matrix are the floats that are nearest to the exact numbers, on every device.
TEST(KernelFamilies, ProductsOfFewNumbersAreTheNearestFloats) {
  constexpr uint32_t kRows = 3, kDepth = 31, kColumns = 7;
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({kRows, kDepth})),
                 weight = add_constant(graph, shape_of({kColumns, kDepth}), "217"),
                 bias = add_constant(graph, shape_of({kColumns}), "7");
  graph.outputs.push_back(add_node(graph, Operator::kMatmul, {input, weight, bias}, {1}, {1, 1, -99, 99}));
  const std::vector<float> x = random_floats(kRows * kDepth), w = random_floats(kColumns * kDepth),
                           b = random_floats(kColumns);
  for (const char* const kernels : {"registers", "groups", "auto"}) {
    SCOPED_TRACE(kernels);
    FloatRun made(graph, shape_of({kRows, kColumns}), kernels);
    if (!made.run()) GTEST_SKIP() << made.error();
    for (uint32_t i = 0; i < kRows * kColumns; ++i) {
      double sum = b[i % kColumns];
      for (uint32_t k = 0; k < kDepth; ++k)
        sum += static_cast<double>(x[i / kColumns * kDepth + k]) * w[i % kColumns * kDepth + k];
      EXPECT_EQ(made.output()[i], static_cast<float>(sum)) << i;
    }
  }
}

struct Window {
  uint32_t inputs, channels, groups, size, kernel;
  int32_t stride, padding, dilation;
};

TEST(KernelFamilies, ComputeTheSameConvolutions) {
  const Window windows[] = {
      {3, 32, 1, 17, 3, 2, 1, 1},  // the first layer of many networks
      {8, 20, 1, 14, 1, 1, 0, 1},  // a product
      {9, 20, 1, 7, 1, 1, 0, 1},   // a product; its planes have no multiple of four
      {6, 4, 2, 9, 3, 1, 1, 1},     {5, 17, 1, 8, 2, 1, 0, 2},  {16, 16, 16, 13, 3, 1, 1, 1},
      {16, 16, 16, 13, 3, 2, 1, 1}, {4, 4, 4, 20, 5, 1, 2, 1},  {4, 4, 4, 20, 3, 3, 2, 2},
      {2, 2, 2, 270, 3, 1, 1, 1},   {2, 2, 2, 523, 3, 2, 1, 1},  // wider than a strip
      {4, 70, 1, 11, 3, 1, 1, 1},   {3, 70, 1, 64, 3, 1, 1, 1}, {10, 40, 2, 33, 3, 2, 1, 1}};
  for (const Window& w : windows) {
    SCOPED_TRACE("window " + std::to_string(&w - windows));
    const uint32_t inputs = w.inputs / w.groups,
                   reach = static_cast<uint32_t>(w.dilation) * (w.kernel - 1) + 1;
    const uint32_t padded = w.size + 2 * static_cast<uint32_t>(w.padding),
                   out = (padded - reach) / static_cast<uint32_t>(w.stride) + 1;
    GpuGraph graph;
    const Shape filters = shape_of({w.channels, inputs, w.kernel, w.kernel});
    const uint32_t x = add_input(graph, shape_of({2, w.inputs, w.size, w.size})),
                   weight = add_constant(graph, filters, std::to_string(filters.numel())),
                   bias = add_constant(graph, shape_of({w.channels}), std::to_string(w.channels));
    graph.outputs.push_back(add_node(
        graph, Operator::kConvolution, {x, weight, bias},
        {w.stride, w.stride, w.padding, w.padding, w.dilation, w.dilation, static_cast<int32_t>(w.groups)},
        {-2, 6}));
    expect_same(graph, shape_of({2, w.channels, out, out}), 1e-4f);
  }
}

// Compares runs with an input of other sizes than the bounds, some of whose numbers are not finite.
void expect_same_smaller(const GpuGraph& graph, const Shape& output, const std::vector<int64_t>& sizes) {
  FloatRun registers(graph, output, "registers"), own(graph, output, "auto");
  if (!registers.is_ready()) GTEST_SKIP() << registers.error();
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  std::vector<float> numbers = random_floats(count);
  numbers[2] = NAN;
  numbers[count / 2] = INFINITY;
  numbers[count - 1] = -INFINITY;
  registers.set_input(0, sizes, numbers);
  own.set_input(0, sizes, numbers);
  ASSERT_TRUE(registers.run()) << registers.error();
  ASSERT_TRUE(own.run()) << own.error();
  size_t finite = 0, others = 0;
  for (size_t i = 0; i < own.output().size(); ++i) {
    const float expected = registers.output()[i], found = own.output()[i];
    ASSERT_EQ(std::isnan(expected), std::isnan(found)) << i;
    std::isnan(expected) ? ++others : ++finite;
    if (std::isnan(expected)) continue;
    ASSERT_NEAR(expected, found, 1e-4f) << i;
  }
  EXPECT_GT(finite, 20u);
  EXPECT_GT(others, 5u);
}

TEST(KernelFamilies, KeepNumbersThatAreNotFinite) {
  for (const uint32_t size : {7u, 8u}) {
    for (const uint32_t window : {1u, 3u}) {
      SCOPED_TRACE("image " + std::to_string(size) + ", window " + std::to_string(window));
      GpuGraph graph;
      const Shape filters = shape_of({20, 9, window, window});
      const uint32_t x = add_input(graph, shape_of({1, 9, size, size})),
                     weight = add_constant(graph, filters, std::to_string(filters.numel()));
      const auto padding = static_cast<int32_t>(window / 2);
      graph.outputs.push_back(add_node(graph, Operator::kConvolution, {x, weight},
                                       {1, 1, padding, padding, 1, 1, 1}, {-0.5f, 0.5f}));
      expect_same_smaller(graph, shape_of({1, 20, size, size}), {1, 9, size, size});
      expect_same_smaller(graph, shape_of({1, 20, size, size}), {1, 9, size - 1, 5});
    }
  }
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 16, 9, 9})),
                 weight = add_constant(graph, shape_of({16, 1, 3, 3}), "144");
  graph.outputs.push_back(
      add_node(graph, Operator::kConvolution, {x, weight}, {1, 1, 1, 1, 1, 1, 16}, {-0.5f, 0.5f}));
  expect_same_smaller(graph, shape_of({1, 16, 9, 9}), {1, 16, 9, 9});
  for (const uint32_t columns : {32u, 33u}) {
    GpuGraph product;
    const uint32_t a = add_input(product, shape_of({40, 12})),
                   b = add_constant(product, shape_of({12, columns}), std::to_string(12 * columns));
    product.outputs.push_back(add_node(product, Operator::kMatmul, {a, b}, {0}, {1, 1, -0.5f, 0.5f}));
    expect_same_smaller(product, shape_of({40, columns}), {40, 12});
  }
}

// The norm reads the result of a convolution that is no output, so it is folded; `second` prevents that.
GpuGraph norm_graph(bool is_folded) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 4, 6, 6})),
                 weight = add_constant(graph, shape_of({8, 4, 1, 1}), "32"),
                 bias = add_constant(graph, shape_of({8}), "8");
  uint32_t value = add_node(graph, Operator::kConvolution, {x, weight, bias}, {1, 1, 0, 0, 1, 1, 1},
                            {-kInfinity, kInfinity});
  if (!is_folded) value = add_unary(graph, UnaryFunction::kNeg, add_unary(graph, UnaryFunction::kNeg, value));
  // eps 2: the pseudo-random variances are larger than -1.
  value = add_node(graph, Operator::kBatchNorm, {value, bias, bias, bias, bias}, {}, {2});
  graph.outputs.push_back(add_node(graph, Operator::kUnary, {value},
                                   {static_cast<int32_t>(UnaryFunction::kClamp)}, {-0.5f, 0.75f}));
  return graph;
}

TEST(BatchNorms, FoldedOnesComputeTheSame) {
  FloatRun folded(norm_graph(true), shape_of({1, 8, 6, 6}), "auto"),
      plain(norm_graph(false), shape_of({1, 8, 6, 6}), "auto");
  if (!plain.run()) GTEST_SKIP() << plain.error();
  ASSERT_TRUE(folded.run()) << folded.error();
  for (size_t i = 0; i < plain.output().size(); ++i)
    ASSERT_NEAR(plain.output()[i], folded.output()[i], 1e-5f) << i;
}

}  // namespace
}  // namespace etb::gpu
