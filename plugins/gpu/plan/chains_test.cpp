// SPDX-License-Identifier: Apache-2.0
// Tests which nodes become one dispatch.
#include "plugins/gpu/plan/chains.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;

ExecutionPlan plan_of(const GpuGraph& graph, Fusion fusion = Fusion::kOn) {
  auto plan = make_execution_plan(graph, KernelFamily::kRegisters, kMostOffsetAlignment, fusion);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *std::move(plan) : ExecutionPlan();
}

std::vector<Kernel> kernels_of(const GpuGraph& graph) {
  std::vector<Kernel> kernels;
  for (const Dispatch& dispatch : plan_of(graph).dispatches) kernels.push_back(dispatch.kernel);
  return kernels;
}

TEST(GpuChains, SiluIsOneDispatch) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({3, 5}));
  const uint32_t sigmoid = add_unary(graph, UnaryFunction::kSigmoid, x);
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kMul, x, sigmoid));
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_EQ(plan.dispatches.size(), 1u);
  EXPECT_EQ(plan.dispatches[0].kernel, Kernel::kChain);
  EXPECT_EQ(plan.dispatches[0].node, 1u);
  EXPECT_EQ(plan.fusions.chains.chains[0].operand_count, 1u);
  EXPECT_EQ(plan.memory.locations[sigmoid].memory, Memory::kNone);
  EXPECT_EQ(plan.memory.arena_bytes, 0u);
  EXPECT_GT(plan_of(graph, Fusion::kOff).memory.arena_bytes, 0u);
  EXPECT_EQ(plan_of(graph, Fusion::kOff).dispatches.size(), 2u);
}

// x / sqrt(2), erf, + 1, times x / 2: the product of x is a side branch. Numbers are no operands.
TEST(GpuChains, GeluOfItsPartsIsOneDispatch) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({7}));
  const uint32_t half = add_binary(graph, BinaryFunction::kMul, x, add_number(graph, 0.5f));
  uint32_t value = add_binary(graph, BinaryFunction::kDiv, x, add_number(graph, 1.41421356f));
  value = add_unary(graph, UnaryFunction::kErf, value);
  value = add_binary(graph, BinaryFunction::kAdd, value, add_number(graph, 1));
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kMul, half, value));
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_EQ(plan.dispatches.size(), 1u);
  EXPECT_EQ(plan.dispatches[0].kernel, Kernel::kChain);
  EXPECT_EQ(plan.fusions.chains.chains[0].operand_count, 1u);
  EXPECT_EQ(plan.fusions.chains.chains[0].numbers[1], 0.5f);
  EXPECT_EQ(plan.fusions.chains.chains[0].numbers[3], 1.41421356f);
}

// x * clamp(x + 3, 0, 6) / 6 of a sum: it has two readers, and both are in the chain.
TEST(GpuChains, HardSwishOfASumIsOneDispatch) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({2, 3})), b = add_input(graph, shape_of({2, 3}));
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, a, b);
  uint32_t value = add_binary(graph, BinaryFunction::kAdd, sum, add_number(graph, 3));
  value = add_node(graph, Operator::kUnary, {value}, {static_cast<int32_t>(UnaryFunction::kClamp)}, {0, 6});
  value = add_binary(graph, BinaryFunction::kMul, sum, value);
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kDiv, value, add_number(graph, 6)));
  EXPECT_THAT(kernels_of(graph), ElementsAre(Kernel::kChain));
}

TEST(GpuChains, SumAndReluWithoutAProductAreOneDispatch) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({2, 4})), b = add_input(graph, shape_of({2, 4}));
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, a, b);
  graph.outputs.push_back(
      add_node(graph, Operator::kUnary, {sum}, {static_cast<int32_t>(UnaryFunction::kClamp)}, {0, 6}));
  EXPECT_THAT(kernels_of(graph), ElementsAre(Kernel::kChain));
}

TEST(GpuChains, ScaleAndShiftBroadcastInOneDispatch) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({2, 3, 4, 5})),
                 w = add_constant(graph, shape_of({3, 1, 1}), "w"),
                 b = add_constant(graph, shape_of({3, 1, 1}), "b");
  graph.outputs.push_back(
      add_binary(graph, BinaryFunction::kAdd, add_binary(graph, BinaryFunction::kMul, x, w), b));
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_EQ(plan.dispatches.size(), 1u);
  EXPECT_EQ(plan.dispatches[0].kernel, Kernel::kChainBroadcast);
  // 20 elements of a plane, which two operands lack; 3 channels; 2 images.
  EXPECT_THAT(
      std::vector(plan.dispatches[0].push.begin() + 1, plan.dispatches[0].push.begin() + 6),
      ElementsAre(3u, 0b000111u | 0b010u << 6 | 0b010u << 12 | 0b111u << 18 | 0b111u << 24, 20u, 3u, 2u));
}

// A result that something else reads has to exist, and smaller results are not computed again for each element.
TEST(GpuChains, EndAtOutputsOtherReadersAndOtherSizes) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({4, 1})), y = add_input(graph, shape_of({4, 6}));
  const uint32_t small = add_unary(graph, UnaryFunction::kAbs, x);
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, small, y);
  const uint32_t both = add_unary(graph, UnaryFunction::kExp, sum);
  graph.outputs.push_back(both);
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kNeg, both));
  graph.outputs.push_back(add_node(graph, Operator::kSoftmax, {sum}, {1, 0}));
  EXPECT_THAT(kernels_of(graph), ElementsAre(Kernel::kUnaryAbs, Kernel::kBroadcastAdd, Kernel::kUnaryExp,
                                             Kernel::kUnaryNeg, Kernel::kSoftmax));
}

TEST(GpuChains, HaveAtMostEightStepsAndFiveOperands) {
  GpuGraph steps;
  uint32_t value = add_input(steps, shape_of({9}));
  for (uint32_t i = 0; i < 19; ++i) value = add_unary(steps, UnaryFunction::kAbs, value);
  steps.outputs.push_back(value);
  EXPECT_THAT(kernels_of(steps), ElementsAre(Kernel::kChain, Kernel::kChain, Kernel::kChain));
  GpuGraph operands;
  value = add_input(operands, shape_of({9}));
  for (uint32_t i = 0; i < 7; ++i)
    value = add_binary(operands, BinaryFunction::kMul, value, add_input(operands, shape_of({9})));
  operands.outputs.push_back(value);
  const ExecutionPlan plan = plan_of(operands);
  ASSERT_EQ(plan.fusions.chains.chains.size(), 2u);
  for (const Chain& chain : plan.fusions.chains.chains) EXPECT_LE(chain.operand_count, kMaxChainOperands);
}

// Each code costs a pipeline, so the seldom ones stay nodes.
TEST(GpuChains, OfManyKindsKeepThoseThatSaveMost) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({5}));
  for (int32_t first = 1; first <= 21; ++first) {
    if (first == static_cast<int32_t>(UnaryFunction::kAbs)) continue;
    uint32_t value = add_unary(graph, static_cast<UnaryFunction>(first), x);
    value = add_unary(graph, UnaryFunction::kAbs, value);
    if (first > 17) value = add_unary(graph, UnaryFunction::kNeg, value);  // three steps
    graph.outputs.push_back(value);
  }
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_EQ(plan.fusions.chains.chains.size(), kMaxChainCodes);
  size_t longest = 0;
  for (const Chain& chain : plan.fusions.chains.chains) longest += chain.nodes.size() == 3 ? 1 : 0;
  EXPECT_EQ(longest, 4u);
}

// The memory of an operand is free only after the chain, whose first steps precede other nodes.
TEST(GpuChains, OperandsLiveUntilTheLastNode) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({64})), w = add_constant(graph, shape_of({64, 64}), "w");
  const uint32_t operand = add_linear(graph, x, w);
  const uint32_t inner = add_unary(graph, UnaryFunction::kAbs, operand);  // before the products
  uint32_t other = x;
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < 3; ++i) others.push_back(other = add_linear(graph, other, w));
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kAdd, inner, other));
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_EQ(plan.fusions.chains.chains.size(), 1u);
  for (const uint32_t each : others)
    EXPECT_FALSE(plan.memory.locations[operand].overlaps(plan.memory.locations[each])) << each;
}

// Sizes of a run may let an operand broadcast that does not for the bounds: the kernel is another one, which the plan has.
TEST(GpuChains, FollowSizesThatBroadcast) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({4, 6})), y = add_input(graph, shape_of({4, 6}));
  graph.outputs.push_back(
      add_unary(graph, UnaryFunction::kNeg, add_binary(graph, BinaryFunction::kMul, x, y)));
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_EQ(plan.dispatches.size(), 1u);
  EXPECT_EQ(plan.dispatches[0].kernel, Kernel::kChain);
  ASSERT_EQ(plan.variants.size(), 2u);
  ShapeSolver solver(plan);
  ASSERT_TRUE(solver.set_input(0, std::vector<int64_t>{1, 6}));
  ASSERT_TRUE(solver.solve());
  std::vector<Dispatch> dispatches;
  make_dispatches(plan.graph, plan.fusions, plan.kernels, solver.shapes(), plan.aliases, dispatches);
  ASSERT_EQ(dispatches.size(), 1u);
  EXPECT_EQ(dispatches[0].kernel, Kernel::kChainBroadcast);
  EXPECT_EQ(dispatches[0].variant(), plan.variants[1]);
}

TEST(GpuChains, AreLeftOutOfThePlanForRecordings) {
  const ExecutionPlan plan = plan_of(layer_graph()), nodes = plan_of(layer_graph(), Fusion::kOff);
  const auto without = without_fusions(plan);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_LT(plan.dispatches.size(), nodes.dispatches.size());
  EXPECT_EQ(without->dispatches.size(), nodes.dispatches.size());
  EXPECT_TRUE(without->variants.empty());
  EXPECT_EQ(without->uses_kernel, nodes.uses_kernel);
  EXPECT_EQ(without->memory.arena_bytes, nodes.memory.arena_bytes);
  for (const PackedConstant& constant : plan.constants)
    EXPECT_EQ(without->memory.locations[constant.value].offset, plan.memory.locations[constant.value].offset);
}

}  // namespace
}  // namespace etb::gpu
