// SPDX-License-Identifier: Apache-2.0
// Compares products and convolutions that add a residual with the same graphs without fusion, bit by bit, on the kernels of each
// family.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

// Numbers from -1 to 1, and some that are not finite or zeros of both signs.
std::vector<float> residual_of(size_t count) {
  static constexpr float kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-41f, 3e38f};
  std::vector<float> made = random_floats(count);
  for (size_t i = 3; i < count; i += 11) made[i] = kSpecial[i / 11 % std::size(kSpecial)];
  return made;
}

void expect_same_bits(const std::vector<float>& fused, const std::vector<float>& nodes) {
  ASSERT_EQ(fused.size(), nodes.size());
  size_t finite = 0;
  for (size_t i = 0; i < fused.size(); ++i) {
    if (std::isnan(fused[i]) && std::isnan(nodes[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(fused[i]), std::bit_cast<uint32_t>(nodes[i]))
        << i << ": " << fused[i] << " " << nodes[i];
    ++finite;
  }
  EXPECT_GT(finite, fused.size() / 2);
}

// Adds an input to the product, clamps the sum, and runs both ways.
void compare(GpuGraph graph, uint32_t product, const Shape& output) {
  const uint32_t other = add_input(graph, output);
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, product, other);
  graph.outputs = {add_node(graph, Operator::kUnary, {sum}, {static_cast<int32_t>(UnaryFunction::kClamp)},
                            {-0.0f, 0.75f})};
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->dispatches.size(), 1u);
  for (const char* const kernels : {"registers", "groups", "auto"}) {
    SCOPED_TRACE(kernels);
    FloatRun fused(graph, output, kernels, "on"), nodes(graph, output, kernels, "off");
    if (!nodes.is_ready()) GTEST_SKIP() << nodes.error();
    ASSERT_TRUE(fused.is_ready()) << fused.error();
    for (FloatRun* const run : {&fused, &nodes}) {
      run->set_input(1, {output.sizes.begin(), output.sizes.begin() + output.rank},
                     residual_of(output.numel()));
      ASSERT_TRUE(run->run()) << run->error();
    }
    expect_same_bits(fused.output(), nodes.output());
  }
}

struct Sizes {
  uint32_t rows, depth, columns;
};
// For each kernel of the families.
constexpr Sizes kProducts[] = {{40, 64, 64}, {40, 30, 49},   {3, 7, 5},     {1, 128, 100}, {9, 20, 23},
                               {2, 300, 36}, {300, 40, 512}, {260, 9, 515}, {3, 81, 35},   {17, 65, 16}};

TEST(ResidualsOfGpus, OfBatchedProductsAreTheBitsOfTheNodes) {
  for (const Sizes& s : kProducts) {
    SCOPED_TRACE(std::to_string(s.rows) + " " + std::to_string(s.depth) + " " + std::to_string(s.columns));
    GpuGraph graph;
    const uint32_t a = add_input(graph, shape_of({2, s.rows, s.depth})),
                   b = add_constant(graph, shape_of({2, s.depth, s.columns}),
                                    std::to_string(2 * s.depth * s.columns));
    const uint32_t made = add_node(graph, Operator::kMatmul, {a, b}, {0}, {0.5f, 1, -0.3f, 0.7f});
    compare(std::move(graph), made, shape_of({2, s.rows, s.columns}));
    if (testing::Test::HasFatalFailure() || testing::Test::IsSkipped()) return;
  }
}

TEST(ResidualsOfGpus, OfWeightsOfEachKindAreTheBitsOfTheNodes) {
  for (const Sizes& s : {Sizes{40, 64, 64}, {9, 20, 23}, {2, 300, 36}, {260, 9, 515}}) {
    for (const uint32_t bits : {32u, 16u, 8u, 4u}) {
      SCOPED_TRACE("bits " + std::to_string(bits) + ", rows " + std::to_string(s.rows));
      GpuGraph graph;
      const Shape shape = shape_of({s.columns, s.depth});
      const uint32_t a = add_input(graph, shape_of({s.rows, s.depth}));
      const uint32_t weight =
          bits <= 8 ? add_codes(graph, shape, bits, 0)
                    : add_constant(graph, shape, (bits == 16 ? "0/" : "") + std::to_string(shape.numel()));
      if (bits == 16) graph.values[weight].host = HostNumbers::kHalves;
      const uint32_t bias = add_constant(graph, shape_of({s.columns}), std::to_string(s.columns));
      const uint32_t made = add_node(graph, Operator::kMatmul, {a, weight, bias}, {1}, {1, 1, -1, 2});
      compare(std::move(graph), made, shape_of({s.rows, s.columns}));
      if (testing::Test::HasFatalFailure() || testing::Test::IsSkipped()) return;
    }
  }
}

struct Window {
  uint32_t inputs, channels, groups, size, kernel;
  int32_t stride, dilation;
};

TEST(ResidualsOfGpus, OfConvolutionsAreTheBitsOfTheNodes) {
  const Window windows[] = {{3, 32, 1, 17, 3, 2, 1},   {8, 20, 1, 14, 1, 1, 1}, {9, 20, 1, 7, 1, 1, 1},
                            {6, 4, 2, 9, 3, 1, 1},     {5, 17, 1, 9, 3, 1, 2},  {16, 16, 16, 13, 3, 1, 1},
                            {16, 16, 16, 13, 3, 2, 1}, {4, 4, 4, 20, 5, 1, 1},  {2, 2, 2, 270, 3, 1, 1},
                            {2, 2, 2, 523, 3, 2, 1},   {3, 70, 1, 64, 3, 1, 1}, {10, 40, 2, 33, 3, 2, 1}};
  for (const Window& w : windows) {
    for (const bool has_codes : {false, true}) {
      if (has_codes && w.size > 20) continue;  // the same kernels
      SCOPED_TRACE("window " + std::to_string(&w - windows) + (has_codes ? ", codes" : ""));
      const auto padding = static_cast<int32_t>(w.kernel / 2);
      const uint32_t reach = static_cast<uint32_t>(w.dilation) * (w.kernel - 1) + 1;
      const uint32_t out =
          (w.size + 2 * static_cast<uint32_t>(padding) - reach) / static_cast<uint32_t>(w.stride) + 1;
      GpuGraph graph;
      const Shape filters = shape_of({w.channels, w.inputs / w.groups, w.kernel, w.kernel});
      const uint32_t x = add_input(graph, shape_of({2, w.inputs, w.size, w.size}));
      const uint32_t weight = has_codes ? add_codes(graph, filters, 8, 0)
                                        : add_constant(graph, filters, std::to_string(filters.numel()));
      const uint32_t made = add_node(
          graph, Operator::kConvolution, {x, weight},
          {w.stride, w.stride, padding, padding, w.dilation, w.dilation, static_cast<int32_t>(w.groups)},
          {-0.5f, 1});
      compare(std::move(graph), made, shape_of({2, w.channels, out, out}));
      if (testing::Test::HasFatalFailure() || testing::Test::IsSkipped()) return;
    }
  }
}

// Other sizes may run another kernel of the family, with texels of another format.
TEST(ResidualsOfGpus, FollowTheSizesOfARun) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 8, 16, 16})),
                 other = add_input(graph, shape_of({1, 20, 16, 16})),
                 weight = add_constant(graph, shape_of({20, 8, 1, 1}), "160");
  const uint32_t made =
      add_node(graph, Operator::kConvolution, {x, weight}, {1, 1, 0, 0, 1, 1, 1}, {-0.5f, 1});
  graph.outputs = {add_binary(graph, BinaryFunction::kAdd, made, other)};
  const Shape output = shape_of({1, 20, 16, 16});
  FloatRun fused(graph, output, "auto", "on"), nodes(graph, output, "auto", "off");
  if (!nodes.is_ready()) GTEST_SKIP() << nodes.error();
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{5, 7}, {16, 16}, {1, 3}, {4, 5}}) {
    const auto pixels = static_cast<size_t>(height * width);
    for (FloatRun* const run : {&fused, &nodes}) {
      run->set_input(0, {1, 8, height, width}, random_floats(8 * pixels));
      run->set_input(1, {1, 20, height, width}, residual_of(20 * pixels));
      ASSERT_TRUE(run->run()) << run->error();
    }
    ASSERT_EQ(fused.output_sizes(), nodes.output_sizes());
    expect_same_bits(fused.output(), nodes.output());
  }
}

}  // namespace
}  // namespace etb::gpu
