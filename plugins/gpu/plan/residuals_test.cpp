// SPDX-License-Identifier: Apache-2.0
// Tests which sums a product or convolution computes itself.
#include "plugins/gpu/plan/residuals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "plugins/gpu/plan/kernel_candidates.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr KernelFamily kFamilies[] = {KernelFamily::kRegisters, KernelFamily::kTiles, KernelFamily::kVectors,
                                      KernelFamily::kGroups};

ExecutionPlan plan_of(const GpuGraph& graph, KernelFamily family = KernelFamily::kRegisters) {
  auto plan = make_execution_plan(graph, family);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *std::move(plan) : ExecutionPlan();
}

uint32_t add_sum(GpuGraph& graph, uint32_t a, uint32_t b) {
  return add_binary(graph, BinaryFunction::kAdd, a, b);
}
uint32_t add_clamp(GpuGraph& graph, uint32_t input, float low, float high) {
  return add_node(graph, Operator::kUnary, {input}, {static_cast<int32_t>(UnaryFunction::kClamp)},
                  {low, high});
}
// A layer [40, 64] of an input, and another input of its sizes.
struct Layer {
  GpuGraph graph;
  uint32_t x = add_input(graph, shape_of({40, 64})), other = add_input(graph, shape_of({40, 64})),
           weight = add_constant(graph, shape_of({64, 64}), "w"), product = add_linear(graph, x, weight);
};

TEST(GpuResiduals, SumAndReluAreInTheKernelOfTheProduct) {
  for (const KernelFamily family : kFamilies) {
    Layer layer;
    const uint32_t sum = add_sum(layer.graph, layer.other, layer.product);
    const uint32_t result = add_clamp(layer.graph, sum, 0, 6);
    layer.graph.outputs.push_back(result);
    const ExecutionPlan plan = plan_of(layer.graph, family);
    ASSERT_THAT(plan.dispatches, SizeIs(1));
    const Dispatch& dispatch = plan.dispatches[0];
    EXPECT_EQ(dispatch.node, 2u);
    EXPECT_EQ(dispatch.written(), result);
    EXPECT_EQ(dispatch.bindings[dispatch.binding_count - 2], layer.other);
    EXPECT_THAT(std::vector(dispatch.push.begin() + 14, dispatch.push.begin() + 17),
                ElementsAre(1u, std::bit_cast<uint32_t>(0.0f), std::bit_cast<uint32_t>(6.0f)));
    for (const uint32_t inner : {layer.product, sum})
      EXPECT_EQ(plan.memory.locations[inner].memory, Memory::kNone);
    EXPECT_FALSE(plan.uses_kernel[index_of(Kernel::kBinaryAdd)]);
    EXPECT_EQ(dispatch.variant(), (KernelVariant{dispatch.kernel, {{1}}}));
    EXPECT_THAT(plan.variants, Contains(dispatch.variant()));
    EXPECT_THAT(plan.uses_plain, Each(false)) << "kernels without a residual that no node needs";
  }
}

TEST(GpuResiduals, AKernelWithAndWithoutAResidualIsPreparedTwice) {
  Layer layer;
  const uint32_t sum = add_sum(layer.graph, layer.other, layer.product);
  layer.graph.outputs.push_back(add_linear(layer.graph, sum, layer.weight));
  const ExecutionPlan plan = plan_of(layer.graph);
  ASSERT_THAT(plan.dispatches, SizeIs(2));
  EXPECT_EQ(plan.dispatches[0].kernel, plan.dispatches[1].kernel);
  EXPECT_THAT(plan.variants, Contains(plan.dispatches[0].variant()));
  EXPECT_TRUE(plan.uses_plain[index_of(plan.dispatches[1].kernel)]);
}

// Linear layers of programs have views around a product of matrices.
TEST(GpuResiduals, ViewsBetweenProductAndSumAreLeftOut) {
  Layer layer;
  const uint32_t view = add_node(layer.graph, Operator::kReshape, {layer.product}, {2, 20, 64});
  const uint32_t added = add_node(layer.graph, Operator::kReshape, {layer.other}, {2, 20, 64});
  layer.graph.outputs.push_back(add_sum(layer.graph, added, view));
  const ExecutionPlan plan = plan_of(layer.graph);
  ASSERT_THAT(plan.dispatches, SizeIs(1));
  EXPECT_EQ(plan.dispatches[0].written(), layer.graph.outputs[0]);
}

// The other one is computed before, where it is in the order.
TEST(GpuResiduals, OfTwoProductsTheLaterOneAddsTheOther) {
  for (const bool is_first : {true, false}) {
    Layer layer;
    const uint32_t second = add_linear(layer.graph, layer.other, layer.weight);
    layer.graph.outputs.push_back(is_first ? add_sum(layer.graph, second, layer.product)
                                           : add_sum(layer.graph, layer.product, second));
    const ExecutionPlan plan = plan_of(layer.graph);
    ASSERT_THAT(plan.dispatches, SizeIs(2));
    EXPECT_EQ(plan.dispatches[0].written(), layer.product);
    ASSERT_THAT(plan.fusions.residuals.all, SizeIs(1));
    EXPECT_EQ(plan.fusions.residuals.all[0].product, 1u);
    EXPECT_THAT(plan.needs_barrier, ElementsAre(false, true));
  }
}

TEST(GpuResiduals, OtherSumsStayNodes) {
  const auto dispatches_with = [](auto add) {
    Layer layer;
    layer.graph.outputs.push_back(add(layer));
    return plan_of(layer.graph).dispatches.size();
  };
  EXPECT_EQ(dispatches_with([](Layer& l) { return add_sum(l.graph, l.product, l.other); }), 1u);
  EXPECT_EQ(dispatches_with([](Layer& l) { return add_sum(l.graph, l.product, l.product); }), 2u);
  EXPECT_EQ(dispatches_with([](Layer& l) { return add_sum(l.graph, l.product, add_number(l.graph, 1)); }),
            2u);
  EXPECT_EQ(dispatches_with(
                [](Layer& l) { return add_sum(l.graph, l.product, add_input(l.graph, shape_of({64}))); }),
            2u)
      << "broadcasts";
  EXPECT_EQ(dispatches_with([](Layer& l) {
              return add_node(l.graph, Operator::kBinary, {l.product, l.other},
                              {static_cast<int32_t>(BinaryFunction::kAdd)}, {2});
            }),
            2u)
      << "twice the other";
  EXPECT_EQ(dispatches_with([](Layer& l) {
              l.graph.outputs.push_back(l.product);
              return add_sum(l.graph, l.product, l.other);
            }),
            2u)
      << "the product is an output";
  EXPECT_EQ(dispatches_with([](Layer& l) {
              return add_unary(l.graph, UnaryFunction::kSigmoid, add_sum(l.graph, l.product, l.other));
            }),
            2u)
      << "a chain of two, which would be a dispatch of one";
}

// Both limits are kept: the product's own ones are before the sum.
TEST(GpuResiduals, ClampsAreThoseOfTheSum) {
  Layer layer;
  const uint32_t sum = add_sum(layer.graph, layer.product, layer.other);
  layer.graph.outputs.push_back(add_clamp(layer.graph, sum, 0, 6));
  layer.graph.outputs.push_back(sum);
  const ExecutionPlan plan = plan_of(layer.graph);
  ASSERT_THAT(plan.dispatches, SizeIs(2)) << "the sum is an output";
  EXPECT_EQ(plan.dispatches[0].push[15], std::bit_cast<uint32_t>(-kInfinity));
  EXPECT_EQ(plan.dispatches[0].push[16], std::bit_cast<uint32_t>(kInfinity));
  EXPECT_EQ(plan.dispatches[1].kernel, Kernel::kUnaryClamp);
}

// The product reads its operands when it writes the sum, after other nodes.
TEST(GpuResiduals, OperandsLiveUntilTheSum) {
  Layer layer;
  GpuGraph& graph = layer.graph;
  const uint32_t operand = add_unary(graph, UnaryFunction::kAbs, layer.other);
  const uint32_t product = add_linear(graph, operand, layer.weight);
  uint32_t other = layer.product;
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < 3; ++i)
    others.push_back(other = add_node(graph, Operator::kSoftmax, {other}, {1, 0}));
  const uint32_t sum = add_sum(graph, product, other);
  graph.outputs.push_back(add_node(graph, Operator::kSoftmax, {sum}, {1, 0}));
  const ExecutionPlan plan = plan_of(graph);
  ASSERT_THAT(plan.fusions.residuals.all, SizeIs(1));
  const auto overlap = [&](uint32_t a, uint32_t b) {
    return plan.memory.locations[a].overlaps(plan.memory.locations[b]);
  };
  for (const uint32_t each : others) EXPECT_FALSE(overlap(operand, each)) << each;
  EXPECT_FALSE(overlap(sum, operand));
  EXPECT_FALSE(overlap(sum, other));
}

TEST(GpuResiduals, SizesThatBroadcastAreRejected) {
  Layer layer;
  layer.graph.outputs.push_back(add_sum(layer.graph, layer.product, layer.other));
  const ExecutionPlan plan = plan_of(layer.graph);
  ShapeSolver solver(plan);
  const std::vector<int64_t> rows = {7, 64}, row = {1, 64};
  ASSERT_TRUE(solver.set_input(0, rows) && solver.set_input(1, rows));
  ASSERT_TRUE(solver.solve());
  for (const size_t input : {0, 1}) {
    ASSERT_TRUE(solver.set_input(input, row) && solver.set_input(1 - input, rows));
    const Status solved = solver.solve();
    ASSERT_FALSE(solved);
    EXPECT_THAT(solved.error().message, HasSubstr("hint: set the option fusion to off"));
  }
}

TEST(GpuResiduals, EachCandidateReadsTheResidual) {
  Layer layer;
  layer.graph.outputs.push_back(add_sum(layer.graph, layer.product, layer.other));
  const ExecutionPlan plan = plan_of(layer.graph, KernelFamily::kTiles);
  const std::vector<KernelCandidate> candidates = find_candidates(plan, 0, kFamilies);
  EXPECT_GT(candidates.size(), 5u);
  std::vector<uint32_t> flags;
  for (const KernelCandidate& each : candidates) {
    flags.push_back(each.dispatch.push[14]);
    EXPECT_EQ(each.dispatch.written(), layer.graph.outputs[0]);
  }
  EXPECT_THAT(flags, Each(1u));
  EXPECT_THAT(find_candidates(plan, 1, kFamilies), SizeIs(0)) << "the sum has no kernel of its own";
}

TEST(GpuResiduals, AreLeftOutOfThePlanForRecordings) {
  Layer layer;
  layer.graph.outputs.push_back(add_sum(layer.graph, layer.product, layer.other));
  const auto without = without_fusions(plan_of(layer.graph));
  ASSERT_TRUE(without) << without.error().message;
  ASSERT_THAT(without->dispatches, SizeIs(2));
  EXPECT_EQ(without->dispatches[0].push[14], 0u);
  EXPECT_EQ(without->dispatches[1].kernel, Kernel::kBinaryAdd);
}

}  // namespace
}  // namespace etb::gpu
