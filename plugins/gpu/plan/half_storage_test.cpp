// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/plan/half_storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;
using testing::Not;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Result<ExecutionPlan> plan_of(GpuGraph graph, KernelFamily family = KernelFamily::kRegisters,
                              Fusion fusion = Fusion::kOn, HalfStorage halves = HalfStorage::kOn) {
  return make_execution_plan(std::move(graph), family, 16, fusion, halves);
}

void set_float16(GpuGraph& graph, std::initializer_list<uint32_t> values) {
  for (const uint32_t id : values) graph.values[id].host = HostNumbers::kHalves;
}

GpuGraph all_float16(GpuGraph graph) {
  for (GpuValue& value : graph.values) value.host = HostNumbers::kHalves;
  return graph;
}

std::vector<uint32_t> halves_of(const GpuGraph& graph) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < graph.values.size(); ++i)
    if (graph.value(i).is_half) found.push_back(i);
  return found;
}

TEST(HalfStorage, IsForValuesThatAreFloat16InTheModel) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({4, 6})), wide = add_input(graph, shape_of({4, 6}));
  const uint32_t number = add_number(graph, 2), codes = add_codes(graph, shape_of({8, 6}), 8, 0);
  const uint32_t sum = add_binary(graph, BinaryFunction::kAdd, x, number);
  const uint32_t is_less = add_binary(graph, BinaryFunction::kLess, sum, wide);
  const uint32_t product = add_linear(graph, sum, codes);
  graph.outputs = {product, is_less};
  set_float16(graph, {x, sum, product});
  graph.values[is_less].host = HostNumbers::kBools;
  EXPECT_TRUE(mark_halves(graph));
  EXPECT_THAT(halves_of(graph), ElementsAre(x, sum, product));
  GpuGraph floats = layer_graph();
  EXPECT_FALSE(mark_halves(floats));
}

TEST(HalfStorage, StepsHaveTheBitsOfWhatTheyMove) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({4, 6}));
  const uint32_t moved = add_node(graph, Operator::kSlice, {x}, {0, 0, 2, 1});     // a step
  const uint32_t squared = add_binary(graph, BinaryFunction::kMul, moved, moved);  // a step
  const uint32_t cube = add_binary(graph, BinaryFunction::kMul, squared, moved);
  const uint32_t step = add_unary(graph, UnaryFunction::kExp, cube);  // a step that only a view reads
  const uint32_t view = add_node(graph, Operator::kReshape, {step}, {12});
  graph.outputs = {view};
  set_float16(graph, {x, cube, view});
  for (const uint32_t id : {moved, squared, step}) graph.values[id].is_step = true;
  EXPECT_TRUE(mark_halves(graph));
  EXPECT_THAT(halves_of(graph), ElementsAre(x, moved, cube, step, view));
}

// Kernels read indices as words of 32 bits, also those that a payload calls float16.
TEST(HalfStorage, IsNotForIndices) {
  GpuGraph graph;
  const uint32_t table = add_constant(graph, shape_of({5, 3}), "w"),
                 indices = add_input(graph, shape_of({4}));
  const uint32_t view = add_node(graph, Operator::kReshape, {indices}, {4});
  graph.outputs = {add_node(graph, Operator::kEmbedding, {table, view}, {})};
  set_float16(graph, {table, indices, view, graph.outputs[0]});
  const auto plan = plan_of(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(halves_of(plan->graph), ElementsAre(table, indices, graph.outputs[0]));
  ASSERT_EQ(plan->dispatches.size(), 2u) << "a copy that widens the indices";
  EXPECT_EQ(plan->dispatches[0].halves, 0b01u);
  EXPECT_EQ(plan->dispatches[1].halves, 0b101u);
}

TEST(HalfStorage, TakesHalfOfTheMemory) {
  GpuGraph graph;
  uint32_t x = add_input(graph, shape_of({16, 32}));
  for (const auto function : {UnaryFunction::kExp, UnaryFunction::kAbs, UnaryFunction::kNeg})
    x = add_unary(graph, function, x);
  graph.outputs = {add_binary(graph, BinaryFunction::kAdd, x, add_constant(graph, shape_of({32}), "w"))};
  const auto wide = make_execution_plan(graph, KernelFamily::kRegisters, 16, Fusion::kOff),
             half = plan_of(all_float16(graph), KernelFamily::kRegisters, Fusion::kOff);
  ASSERT_TRUE(wide && half);
  EXPECT_EQ(half->memory.transfer_bytes * 2, wide->memory.transfer_bytes);
  EXPECT_EQ(half->memory.arena_bytes * 2, wide->memory.arena_bytes);
  EXPECT_EQ(half->memory.constant_bytes * 2, wide->memory.constant_bytes);
}

TEST(HalfStorage, PreparesOnlyKernelsForIt) {
  const auto plan = plan_of(all_float16(layer_graph()), KernelFamily::kRegisters, Fusion::kOff);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->uses_plain, Not(testing::Contains(true)));
  for (const Dispatch& dispatch : plan->dispatches) {
    EXPECT_NE(dispatch.halves, 0u);
    EXPECT_THAT(plan->variants, testing::Contains(dispatch.variant()));
  }
  // For other sizes the sum would not broadcast.
  EXPECT_THAT(plan->variants, testing::Contains(KernelVariant{Kernel::kBinaryAdd, {}, 0b111}));
}

// The kernels for processors read no float16.
TEST(HalfStorage, ReplacesFamiliesThatLackIt) {
  for (const auto& [asked, expected] : {std::pair{KernelFamily::kTiles, KernelFamily::kRegisters},
                                        {KernelFamily::kVectors, KernelFamily::kRegisters},
                                        {KernelFamily::kGroups, KernelFamily::kGroups}}) {
    const auto half = plan_of(all_float16(layer_graph()), asked), wide = plan_of(layer_graph(), asked);
    ASSERT_TRUE(half && wide);
    EXPECT_EQ(half->kernels.family, expected);
    EXPECT_EQ(wide->kernels.family, asked);
    for (const Dispatch& dispatch : wide->dispatches) EXPECT_EQ(dispatch.halves, 0u);
  }
}

TEST(HalfStorage, InnerStepsOfChainsRound) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({8}));
  const uint32_t power = add_unary(graph, UnaryFunction::kExp, x),
                 wide = add_unary(graph, UnaryFunction::kAbs, power);
  graph.outputs = {add_unary(graph, UnaryFunction::kNeg, wide)};
  set_float16(graph, {x, power, graph.outputs[0]});
  const auto plan = plan_of(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->dispatches.size(), 1u);
  const auto& steps = plan->dispatches[0].chain.steps;
  EXPECT_NE(steps[0] & kRoundsBit, 0u);
  EXPECT_EQ(steps[1] & kRoundsBit, 0u) << "a result of float32";
  EXPECT_EQ(steps[2] & kRoundsBit, 0u) << "the kernel rounds what it stores";
}

// A step is computed in float16 if operands and result are, numbers have few digits, and the result has one rounding.
TEST(HalfStorage, ArithmeticIsForStepsOfFloat16) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({8})), wide = add_input(graph, shape_of({8}));
  std::vector<uint32_t> steps = {x};
  const auto add = [&](BinaryFunction function, uint32_t other, float alpha = 1) {
    steps.push_back(add_binary(graph, function, steps.back(), other));
    graph.nodes.back().floats = {alpha};
  };
  add(BinaryFunction::kAdd, x);
  add(BinaryFunction::kMul, add_number(graph, 0.1f));
  add(BinaryFunction::kMul, add_number(graph, 0.5f));
  add(BinaryFunction::kSub, x, 2);
  add(BinaryFunction::kMaximum, wide);
  steps.push_back(add_unary(graph, UnaryFunction::kExp, steps.back()));
  steps.push_back(add_unary(graph, UnaryFunction::kClamp, steps.back()));
  graph.nodes.back().floats = {0, kInfinity};
  add(BinaryFunction::kLess, x);
  graph.outputs = {steps.back()};
  for (const uint32_t id : steps) set_float16(graph, {id});
  graph.values[steps.back()].host = HostNumbers::kBools;
  const std::vector<bool> in_half = {true, false, true, false, false, false, true, true};
  const auto plan = plan_of(graph, KernelFamily::kRegisters, Fusion::kOn, HalfStorage::kArithmetic);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->dispatches.size(), 1u);
  EXPECT_NE(plan->dispatches[0].halves & kArithmeticBit, 0u);
  for (size_t i = 0; i < in_half.size(); ++i)
    EXPECT_EQ((plan->dispatches[0].chain.steps[i] & kInHalfStepBit) != 0, in_half[i]) << i;
  const auto single = plan_of(graph, KernelFamily::kRegisters, Fusion::kOff, HalfStorage::kArithmetic);
  ASSERT_TRUE(single) << single.error().message;
  ASSERT_EQ(single->dispatches.size(), in_half.size());
  for (size_t i = 0; i < in_half.size(); ++i)
    EXPECT_EQ((single->dispatches[i].halves & kInHalfBit) != 0, in_half[i]) << i;
}

TEST(HalfStorage, ArithmeticIsForNumbersOfFloat16) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({8}));
  graph.outputs = {add_unary(graph, UnaryFunction::kClamp, x)};
  set_float16(graph, {x, graph.outputs[0]});
  ASSERT_TRUE(mark_halves(graph, HalfStorage::kArithmetic));
  GpuNode node = graph.nodes[0];
  for (const float number :
       {0.0f, -0.0f, 1.0f, 6.0f, 65504.0f, kInfinity, 0x1p-24f, 0x3ffp-24f, 2049.0f - 1}) {
    node.floats = {-number, number};
    EXPECT_TRUE(computes_in_half(graph, node)) << number;
  }
  for (const float number : {0.1f, 65505.0f, 65536.0f, 0x1p-25f, 0x3p-25f, 2049.0f, std::nanf("")}) {
    node.floats = {-number, 1};
    EXPECT_FALSE(computes_in_half(graph, node)) << number;
  }
  mark_halves(graph, HalfStorage::kOn);
  EXPECT_FALSE(computes_in_half(graph, graph.nodes[0])) << "not with storage";
}

// The kernel rounds a product as it rounds the sum.
TEST(HalfStorage, ResidualsHaveTheBitsOfTheProduct) {
  for (const bool is_half : {true, false}) {
    GpuGraph graph;
    const uint32_t x = add_input(graph, shape_of({4, 8})), added = add_input(graph, shape_of({4, 8}));
    const uint32_t product = add_linear(graph, x, add_constant(graph, shape_of({8, 8}), "w"));
    graph.outputs = {add_binary(graph, BinaryFunction::kAdd, product, added)};
    set_float16(graph, {x, graph.outputs[0]});
    if (is_half) set_float16(graph, {product});
    const auto plan = plan_of(graph);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->fusions.residuals.all.size(), is_half ? 1u : 0u);
  }
}

TEST(HalfStorage, ConstantsOfConvolutionsAreFloat16) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 4, 6, 6})),
                 filters = add_constant(graph, shape_of({8, 4, 3, 3}), "w");
  graph.outputs = {
      add_node(graph, Operator::kConvolution, {x, filters}, {1, 1, 1, 1, 1, 1, 1}, {-kInfinity, kInfinity})};
  const auto plan = plan_of(all_float16(graph));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->memory.locations[filters].nbytes, 8u * 4 * 9 * 2);
  EXPECT_EQ(plan->dispatches[0].halves, 0b11111u);
}

}  // namespace
}  // namespace etb::gpu
