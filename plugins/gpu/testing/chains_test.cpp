// SPDX-License-Identifier: Apache-2.0
// Compares chains with the same graphs without fusion, bit by bit, and records the inner results of chains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "etb/ext/draft/values.h"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/float_run.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;

constexpr uint32_t kSeed = 20261127;

// Numbers of many magnitudes, among them NaN, infinities, zeros of both signs and subnormal ones.
std::vector<float> numbers(std::mt19937& random, size_t count) {
  static constexpr float kSpecial[] = {NAN,     INFINITY, -INFINITY, 0.0f, -0.0f, 1e-41f,
                                       -1e-41f, 3e38f,    65520,     2049, -0.5f, 1};
  std::vector<float> made(count);
  for (float& each : made) {
    const float fraction = static_cast<float>(random() >> 8) / 8388608.0f - 1;
    each = random() % 6 == 0 ? kSpecial[random() % std::size(kSpecial)]
                             : std::ldexp(fraction, static_cast<int>(random() % 12) - 4);
  }
  return made;
}

uint32_t add_random_node(GpuGraph& graph, std::mt19937& random, const std::vector<uint32_t>& values) {
  // Mostly the newest values, so that chains are long.
  const auto any = [&] {
    return values[values.size() - 1 - std::min<size_t>(random() % values.size(), random() % 4)];
  };
  const auto number = [&] { return static_cast<float>(random() % 64) / 8 - 4; };
  if (random() % 2 == 0) {
    const auto function = static_cast<int32_t>(1 + random() % 21);
    return add_node(graph, Operator::kUnary, {any()}, {function}, {number(), number()});
  }
  const uint32_t a = any(), b = random() % 4 == 0 ? add_number(graph, number()) : any();
  const float alpha = random() % 2 == 0 ? 1.0f : number();
  const auto function = static_cast<int32_t>(1 + random() % 9);
  return add_node(graph, Operator::kBinary, random() % 2 == 0 ? std::vector{a, b} : std::vector{b, a},
                  {function}, {alpha});
}

// Inputs of [4, 6, 10] or of parts that broadcast to it; an output of all its elements.
GpuGraph random_graph(std::mt19937& random) {
  GpuGraph graph;
  std::vector<uint32_t> values = {add_input(graph, shape_of({4, 6, 10}))};
  static const Shape kShapes[] = {shape_of({4, 6, 10}), shape_of({10}), shape_of({6, 1}),
                                  shape_of({4, 1, 10}), shape_of({4, 6, 10})};
  for (uint32_t i = 0; i < 3; ++i) values.push_back(add_input(graph, kShapes[random() % std::size(kShapes)]));
  const uint32_t count = 3 + random() % 14;
  for (uint32_t i = 0; i < count; ++i) values.push_back(add_random_node(graph, random, values));
  const uint32_t last = add_binary(graph, BinaryFunction::kAdd, values.back(), values[0]);
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kNeg, last));
  return graph;
}

// Sizes for a run: each dimension of all inputs is 1, its bound or less; some inputs have 1 instead.
std::vector<int64_t> smaller(const Shape& bound, const std::array<uint32_t, 3>& dims, std::mt19937& random) {
  std::vector<int64_t> sizes;
  for (uint32_t d = 0; d < bound.rank; ++d) {
    const uint32_t size = std::min(bound.sizes[d], dims[3 - bound.rank + d]);
    sizes.push_back(random() % 5 == 0 && size > 1 ? 1 : size);
  }
  return sizes;
}

size_t numel(const std::vector<int64_t>& sizes) {
  size_t count = 1;
  for (const int64_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

void expect_same_bits(const std::vector<float>& fused, const std::vector<float>& nodes) {
  ASSERT_EQ(fused.size(), nodes.size());
  for (size_t i = 0; i < fused.size(); ++i) {
    if (std::isnan(fused[i]) && std::isnan(nodes[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(fused[i]), std::bit_cast<uint32_t>(nodes[i]))
        << i << ": " << fused[i] << " " << nodes[i];
  }
}

// Runs a graph in both ways for its bounds and for smaller sizes.
void compare(const GpuGraph& graph, std::mt19937& random, size_t& saved) {
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  saved += graph.nodes.size() - plan->dispatches.size();
  const Shape& out = plan->bounds[graph.outputs[0]];
  FloatRun fused(graph, out, "auto", "on"), nodes(graph, out, "auto", "off");
  if (!nodes.is_ready()) GTEST_SKIP() << nodes.error();
  ASSERT_TRUE(fused.is_ready()) << fused.error();
  for (uint32_t round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::array<uint32_t, 3> dims = {4, 6, 10};
    for (uint32_t& dim : dims)
      if (round > 0) dim = random() % 4 == 0 ? 1 : 1 + random() % dim;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Shape& bound = graph.value(graph.inputs[i]).shape;
      std::vector<int64_t> sizes(bound.sizes.begin(), bound.sizes.begin() + bound.rank);
      if (round > 0) sizes = smaller(bound, dims, random);
      const std::vector<float> data = numbers(random, numel(sizes));
      fused.set_input(i, sizes, data);
      nodes.set_input(i, sizes, data);
    }
    ASSERT_TRUE(nodes.run()) << nodes.error();
    ASSERT_TRUE(fused.run()) << fused.error();
    ASSERT_EQ(fused.output_sizes(), nodes.output_sizes());
    expect_same_bits(fused.output(), nodes.output());
  }
}

TEST(ChainsOfGpus, ComputeTheBitsOfTheirNodes) {
  std::mt19937 random(kSeed);
  size_t saved = 0;
  for (uint32_t i = 0; i < 16; ++i) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", graph " + std::to_string(i));
    compare(random_graph(random), random, saved);
    if (testing::Test::HasFatalFailure() || testing::Test::IsSkipped()) return;
  }
  EXPECT_GT(saved, 50u);
}

// Each function after and before a product, which a compiler might contract or reorder.
TEST(ChainsOfGpus, ComputeTheBitsOfEachFunction) {
  std::mt19937 random(kSeed);
  size_t saved = 0;
  for (int32_t function = 1; function <= 21 + 9; ++function) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", function " + std::to_string(function));
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({4, 6, 10})), y = add_input(graph, shape_of({4, 6, 10}));
    uint32_t value = add_binary(graph, BinaryFunction::kMul, x, y);
    value = function <= 21 ? add_node(graph, Operator::kUnary, {value}, {function}, {-0.75f, 3})
                           : add_node(graph, Operator::kBinary, {value, y}, {function - 21}, {0.3f});
    value =
        add_node(graph, Operator::kBinary, {value, x}, {static_cast<int32_t>(BinaryFunction::kSub)}, {0.7f});
    graph.outputs.push_back(add_binary(graph, BinaryFunction::kMul, value, value));
    compare(graph, random, saved);
    if (testing::Test::HasFatalFailure() || testing::Test::IsSkipped()) return;
  }
  EXPECT_EQ(saved, 3u * 30);
}

// Roundings to float16 between the steps stay where they are.
TEST(ChainsOfGpus, RoundToFloat16BetweenTheirSteps) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({600})), y = add_input(graph, shape_of({600}));
  uint32_t value = add_unary(graph, UnaryFunction::kRoundHalf, add_binary(graph, BinaryFunction::kAdd, x, y));
  value = add_unary(graph, UnaryFunction::kRoundHalf, add_binary(graph, BinaryFunction::kMul, value, y));
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kSub, value, y));
  FloatRun fused(graph, shape_of({600}), "auto", "on"), nodes(graph, shape_of({600}), "auto", "off");
  if (!nodes.is_ready()) GTEST_SKIP() << nodes.error();
  std::mt19937 random(kSeed);
  for (const size_t i : {0, 1}) {
    const std::vector<float> data = numbers(random, 600);
    fused.set_input(i, {600}, data);
    nodes.set_input(i, {600}, data);
  }
  ASSERT_TRUE(nodes.run()) << nodes.error();
  ASSERT_TRUE(fused.run()) << fused.error();
  expect_same_bits(fused.output(), nodes.output());
}

struct Recorded {
  std::map<std::string, std::vector<float>> values;
  static etb_status ETB_CALL put_event(void*, const etb_event*) { return ETB_OK; }
  static uint32_t ETB_CALL wants(void*, const char*, int64_t) { return 1; }
  static etb_status ETB_CALL put(void* ctx, const etb_inner_value* value) {
    const etb_tensor& tensor = value->tensors[0];
    const auto* data = static_cast<const float*>(tensor.data);
    size_t count = 1;
    for (uint32_t d = 0; d < tensor.rank; ++d) count *= static_cast<size_t>(tensor.sizes[d]);
    static_cast<Recorded*>(ctx)->values[value->name] = {data, data + count};
    return ETB_OK;
  }
};

// Payloads of our own have no debug ids, and their debug map joins the event of a chain with all nodes.
TEST(ChainsOfGpus, HaveOneEvent) {
  if (!tested_plugin().has_timestamps()) GTEST_SKIP() << "a device without time stamps";
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({3}));
  graph.outputs.push_back(
      add_binary(graph, BinaryFunction::kMul, x, add_unary(graph, UnaryFunction::kSigmoid, x)));
  std::vector<std::string> names;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &names,
                               [](void* ctx, const etb_event* event) {
                                 static_cast<std::vector<std::string>*>(ctx)->push_back(event->name);
                                 return etb_status{ETB_OK};
                               }};
  FloatRun run(graph, shape_of({3}), "auto", "on");
  if (!run.is_ready()) GTEST_SKIP() << run.error();
  ASSERT_TRUE(run.run(&sink)) << run.error();
  EXPECT_THAT(names, ElementsAre(event_name(graph.nodes[1])));
}

TEST(ChainsOfGpus, InnerResultsAreRecorded) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({3}));
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, x, add_number(graph, 1));
  const uint32_t magnitude = add_unary(graph, UnaryFunction::kAbs, sum);
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kMul, magnitude, sum));
  FloatRun run(graph, shape_of({3}), "auto", "on");
  if (!run.is_ready()) GTEST_SKIP() << run.error();
  run.set_input(0, {3}, {-3, 0, 2});
  Recorded recorded;
  etb_value_sink sink{};
  sink.events = {ETB_INIT_SIZE(etb_value_sink), 0, &recorded, Recorded::put_event};
  sink.id = ETB_VALUE_SINK_ID;
  sink.wants = Recorded::wants;
  sink.put_value = Recorded::put;
  for (int i = 0; i < 2; ++i) {
    recorded.values.clear();
    ASSERT_TRUE(run.run(&sink.events)) << run.error();
    EXPECT_THAT(recorded.values[result_name(sum)], ElementsAre(-2, 1, 3));
    EXPECT_THAT(recorded.values[result_name(magnitude)], ElementsAre(2, 1, 3));
    EXPECT_THAT(recorded.values[result_name(graph.outputs[0])], ElementsAre(-4, 1, 9));
    EXPECT_THAT(run.output(), ElementsAre(-4, 1, 9));
    run.clear_output();
    ASSERT_TRUE(run.run()) << run.error();
    EXPECT_THAT(run.output(), ElementsAre(-4, 1, 9));
  }
}

}  // namespace
}  // namespace etb::gpu
