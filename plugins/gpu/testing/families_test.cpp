// SPDX-License-Identifier: Apache-2.0
// Compares the kernel families with "registers", which every device has: "groups", and "auto", those that suit the device.
#include <gtest/gtest.h>

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
                                             {2u, 300u, 36u},       // slices of the depth
                                             {3u, 81u, 35u},
                                             {300u, 40u, 512u},     // tiles of 64 rows
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

struct Window {
  uint32_t inputs, channels, groups, size, kernel;
  int32_t stride, padding, dilation;
};

TEST(KernelFamilies, ComputeTheSameConvolutions) {
  const Window windows[] = {{3, 32, 1, 17, 3, 2, 1, 1},  // the first layer of many networks
                            {8, 20, 1, 14, 1, 1, 0, 1},  // a product; its planes have no multiple of four
                            {6, 4, 2, 9, 3, 1, 1, 1},     {5, 17, 1, 8, 2, 1, 0, 2},
                            {16, 16, 16, 13, 3, 1, 1, 1}, {16, 16, 16, 13, 3, 2, 1, 1},
                            {4, 4, 4, 20, 5, 1, 2, 1},    {4, 4, 4, 20, 3, 3, 2, 2},
                            {2, 2, 2, 270, 3, 1, 1, 1},   {2, 2, 2, 523, 3, 2, 1, 1},  // wider than a strip
                            {4, 70, 1, 11, 3, 1, 1, 1},
                            {3, 70, 1, 64, 3, 1, 1, 1},   {10, 40, 2, 33, 3, 2, 1, 1}};
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
