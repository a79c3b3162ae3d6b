// SPDX-License-Identifier: Apache-2.0
// Tests which nodes are attention that one dispatch computes.
#include "plugins/gpu/plan/attention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/attention_graph.hpp"

namespace etb::gpu {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ExecutionPlan plan_of(const GpuGraph& graph, KernelFamily family, Fusion fusion = Fusion::kOn) {
  auto plan = make_execution_plan(graph, family, kMostOffsetAlignment, fusion);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *std::move(plan) : ExecutionPlan();
}

std::vector<Kernel> kernels_of(const GpuGraph& graph, KernelFamily family) {
  std::vector<Kernel> kernels;
  for (const Dispatch& dispatch : plan_of(graph, family).dispatches) kernels.push_back(dispatch.kernel);
  return kernels;
}

// The output is a view that the last node copies.
TEST(GpuAttention, IsOneDispatch) {
  const GpuGraph graph = attention_graph({});
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles), ElementsAre(Kernel::kTileAttention, Kernel::kCopy));
  // Kernels of vectors read the permutation of k.
  EXPECT_THAT(kernels_of(graph, KernelFamily::kVectors),
              ElementsAre(Kernel::kCopy, Kernel::kVectorAttention, Kernel::kCopy));
  for (const KernelFamily family : {KernelFamily::kRegisters, KernelFamily::kGroups})
    EXPECT_THAT(kernels_of(graph, family), Contains(Kernel::kSoftmax));
}

// No GPU has measured the kernel.
TEST(GpuAttention, IsOneDispatchOfGroupsOnRequest) {
  for (const bool is_whole : {true, false}) {
    const GpuGraph graph = attention_graph({.rows = 33, .depth = is_whole ? 8u : 7u, .mask = {33, 7}});
    const ExecutionPlan plan = plan_of(graph, KernelFamily::kGroups, Fusion::kAll);
    ASSERT_EQ(plan.dispatches.size(), 2u);
    EXPECT_EQ(plan.dispatches[0].kernel, is_whole ? Kernel::kGroupAttention : Kernel::kGroupAttentionEdge);
    EXPECT_THAT(plan.dispatches[0].items, ElementsAre(3u * 64, 1u, 2u));
    EXPECT_THAT(kernels_of(graph, KernelFamily::kGroups), Contains(Kernel::kSoftmax));
  }
}

TEST(GpuAttention, ReadsItsOperandsBeforeViewsAndScales) {
  const GpuGraph graph = attention_graph({.mask = {5, 7}});
  const ExecutionPlan plan = plan_of(graph, KernelFamily::kTiles);
  ASSERT_EQ(plan.fusions.attentions.all.size(), 1u);
  const Attention& found = plan.fusions.attentions.all[0];
  EXPECT_THAT(std::vector(plan.dispatches[0].bindings.begin(), plan.dispatches[0].bindings.begin() + 4),
              ElementsAre(graph.inputs[0], graph.inputs[1], graph.inputs[2], graph.inputs[3]));
  EXPECT_EQ(plan.dispatches[0].kernel, Kernel::kTileAttentionMasked);
  EXPECT_TRUE(found.zeroes_masked);
  EXPECT_FLOAT_EQ(found.q_scale, 0.35f * 0.35f);
  EXPECT_EQ(found.scale, 1);
  EXPECT_EQ(found.nodes.size() + 1, graph.nodes.size()) << "all but the last view";
}

TEST(GpuAttention, TakesScalesOfScoresAndRowsWithoutGuard) {
  for (const ScaledWhere scaled : {ScaledWhere::kScores, ScaledWhere::kDivided}) {
    const GpuGraph graph = attention_graph(
        {.mask = {2, 1, 7}, .has_guard = false, .scaled = scaled, .scale = 0.5f, .is_mask_first = true});
    const ExecutionPlan plan = plan_of(graph, KernelFamily::kVectors);
    ASSERT_EQ(plan.fusions.attentions.all.size(), 1u);
    const Attention& found = plan.fusions.attentions.all[0];
    EXPECT_EQ(found.scale, 0.5f);
    EXPECT_EQ(found.q_scale, 1);
    EXPECT_FALSE(found.zeroes_masked);
    EXPECT_EQ(found.mask, graph.inputs[3]);
  }
}

// [heads, 1, keys]: the same for each row.
TEST(GpuAttention, StepsThroughMasksThatBroadcast) {
  struct Row {
    std::vector<uint32_t> mask;
    std::array<uint32_t, 5> steps;  // heads, then elements from a batch, head, row and key to the next
  };
  for (const Row& row :
       {Row{{5, 7}, {2, 0, 0, 7, 1}}, Row{{2, 1, 7}, {2, 0, 7, 0, 1}}, Row{{3, 1, 1, 7}, {2, 7, 0, 0, 1}},
        Row{{3, 2, 5, 7}, {2, 70, 35, 7, 1}}, Row{{5, 1}, {2, 0, 0, 1, 0}}}) {
    const GpuGraph graph = attention_graph({.batch = 3, .mask = row.mask});
    const ExecutionPlan plan = plan_of(graph, KernelFamily::kTiles);
    for (size_t i = 0; i < row.steps.size(); ++i)
      EXPECT_EQ(plan.dispatches[0].push[4 + i], row.steps[i]) << i;
  }
}

TEST(GpuAttention, TakesMasksThatChooseANumber) {
  for (const MaskedBy masked_by : {MaskedBy::kSetNumber, MaskedBy::kUnsetNumber}) {
    for (const bool has_guard : {true, false}) {
      const GpuGraph graph = attention_graph(
          {.batch = 3, .mask = {3, 1, 1, 7}, .has_guard = has_guard, .masked_by = masked_by, .fill = -9});
      EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles),
                  ElementsAre(Kernel::kTileAttentionChosen, Kernel::kCopy));
      const ExecutionPlan plan = plan_of(graph, KernelFamily::kTiles);
      const Attention& found = plan.fusions.attentions.all.at(0);
      EXPECT_EQ(found.mask_kind,
                masked_by == MaskedBy::kSetNumber ? MaskKind::kHidesSet : MaskKind::kHidesUnset);
      EXPECT_EQ(found.mask, graph.inputs[3]) << "before its expansion";
      EXPECT_EQ(found.fill, -9);
      EXPECT_EQ(found.zeroes_masked, has_guard);
    }
  }
}

// It has a dispatch anyway.
TEST(GpuAttention, ReadsAnExpandedConditionThatOthersRead) {
  GpuGraph graph = attention_graph({.mask = {5, 7}, .has_guard = false, .masked_by = MaskedBy::kSetNumber});
  const auto choice = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                   [](const GpuNode& node) { return node.op == Operator::kWhere; });
  const auto expansion = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                      [&](const GpuNode& node) { return node.output == choice->inputs[0]; });
  expansion->inputs = {graph.inputs[3]};
  expansion->ints = {1, 2, 5, 7};
  const uint32_t condition = choice->inputs[0];
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kAbs, condition));
  const ExecutionPlan plan = plan_of(graph, KernelFamily::kTiles);
  ASSERT_EQ(plan.fusions.attentions.all.size(), 1u);
  EXPECT_EQ(plan.fusions.attentions.all[0].mask, condition);
}

TEST(GpuAttention, IsNoChoiceOfTensors) {
  GpuGraph graph = attention_graph({.has_guard = false});
  auto& nodes = graph.nodes;
  const auto softmax = std::find_if(nodes.begin(), nodes.end(),
                                    [](const GpuNode& node) { return node.op == Operator::kSoftmax; });
  const uint32_t scores = softmax->inputs[0], chosen = static_cast<uint32_t>(graph.values.size());
  graph.values.emplace_back();
  softmax->inputs[0] = chosen;
  nodes.insert(softmax, {Operator::kWhere, {scores, scores, scores}, chosen});
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles), Contains(Kernel::kSoftmax));
}

TEST(GpuAttention, ReadsKeysAndValuesThatHeadsShareOnce) {
  const GpuGraph graph = attention_graph({.batch = 2, .heads = 6, .group = 3});
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles), ElementsAre(Kernel::kTileAttention, Kernel::kCopy));
  EXPECT_THAT(kernels_of(graph, KernelFamily::kVectors),
              ElementsAre(Kernel::kCopy, Kernel::kVectorAttention, Kernel::kCopy));
  const ExecutionPlan plan = plan_of(graph, KernelFamily::kTiles);
  const Dispatch& dispatch = plan.dispatches[0];
  EXPECT_THAT(std::vector(dispatch.bindings.begin(), dispatch.bindings.begin() + 3),
              ElementsAre(graph.inputs[0], graph.inputs[1], graph.inputs[2]));
  EXPECT_THAT(std::vector(dispatch.push.begin() + 17, dispatch.push.begin() + 19), ElementsAre(3u, 3u));
}

TEST(GpuAttention, LeavesRepetitionsThatOthersRead) {
  GpuGraph graph = attention_graph({.heads = 6, .group = 3});
  const auto repetition = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const GpuNode& node) {
    return node.op == Operator::kExpand && node.ints.size() == 5;
  });
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kAbs, repetition->output));
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles),
              ElementsAre(Kernel::kCopy, Kernel::kTileAttention, Kernel::kCopy, Kernel::kUnaryAbs));
}

// [heads / 3, 3, ...] of which whole groups repeat: matrices that share one are not in a row.
TEST(GpuAttention, IsNotGroupsInAnotherOrder) {
  GpuGraph graph = attention_graph({.heads = 6, .group = 3});
  for (GpuNode& node : graph.nodes) {
    if (node.op == Operator::kReshape && node.ints.size() == 5) std::swap(node.ints[1], node.ints[2]);
    if (node.op == Operator::kExpand && node.ints.size() == 5) std::swap(node.ints[1], node.ints[2]);
  }
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles),
              ElementsAre(Kernel::kCopy, Kernel::kCopy, Kernel::kTileAttention, Kernel::kCopy));
}

// Kernels of vectors read the operand of the product.
TEST(GpuAttention, LeavesTranspositionsThatOthersRead) {
  GpuGraph graph = attention_graph({});
  const auto permutation = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                        [](const GpuNode& node) { return node.op == Operator::kPermute; });
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kAbs, permutation->output));
  const ExecutionPlan plan = plan_of(graph, KernelFamily::kVectors);
  ASSERT_EQ(plan.fusions.attentions.all.size(), 1u);
  const Attention& found = plan.fusions.attentions.all[0];
  EXPECT_FALSE(found.turns_k);
  EXPECT_EQ(found.k, graph.nodes[found.product].inputs[1]);
}

// Scores of 1024 rows and keys take 32 MiB without fusion.
TEST(GpuAttention, HasNoMemoryForScores) {
  const GpuGraph graph =
      attention_graph({.heads = 8, .rows = 1024, .keys = 1024, .depth = 64, .columns = 64});
  constexpr uint64_t kScores = uint64_t{8} * 1024 * 1024 * 4, kOperand = uint64_t{8} * 1024 * 64 * 4;
  for (const KernelFamily family : {KernelFamily::kTiles, KernelFamily::kVectors}) {
    EXPECT_GE(plan_of(graph, family, Fusion::kOff).memory.arena_bytes, 2 * kScores);
    EXPECT_LE(plan_of(graph, family).memory.arena_bytes, 3 * kOperand);
  }
}

TEST(GpuAttention, EndsAtOtherReadersAndOutputs) {
  GpuGraph graph = attention_graph({});
  const auto softmax = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                    [](const GpuNode& node) { return node.op == Operator::kSoftmax; });
  graph.outputs.push_back(softmax->output);
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles), Contains(Kernel::kSoftmax));
  graph.outputs.back() = add_unary(graph, UnaryFunction::kAbs, softmax->output);
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles), Contains(Kernel::kSoftmax));
}

// A permutation with another reader has a dispatch, and the kernel reads the value before it.
TEST(GpuAttention, LeavesOperandsThatOthersRead) {
  GpuGraph graph = attention_graph({});
  const auto permutation = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                        [](const GpuNode& node) { return node.op == Operator::kPermute; });
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kAbs, permutation->output));
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles),
              ElementsAre(Kernel::kCopy, Kernel::kTileAttention, Kernel::kCopy, Kernel::kUnaryAbs));
}

TEST(GpuAttention, IsNotScoresThatAreAddedToThemselves) {
  GpuGraph graph = attention_graph({.has_guard = false});
  auto& nodes = graph.nodes;
  const auto softmax = std::find_if(nodes.begin(), nodes.end(),
                                    [](const GpuNode& node) { return node.op == Operator::kSoftmax; });
  const uint32_t scores = softmax->inputs[0], twice = static_cast<uint32_t>(graph.values.size());
  graph.values.emplace_back();
  softmax->inputs[0] = twice;
  nodes.insert(
      softmax,
      {Operator::kBinary, {scores, scores}, twice, {static_cast<int32_t>(BinaryFunction::kAdd)}, {1}});
  EXPECT_THAT(kernels_of(graph, KernelFamily::kTiles), Contains(Kernel::kSoftmax));
}

TEST(GpuAttention, HasNoKernelForManyColumns) {
  EXPECT_THAT(kernels_of(attention_graph({.columns = 132}), KernelFamily::kTiles),
              Contains(Kernel::kSoftmax));
  EXPECT_THAT(kernels_of(attention_graph({.depth = 132}), KernelFamily::kVectors),
              Contains(Kernel::kSoftmax));
}

// The first product of a second attention is the last one of the first.
TEST(GpuAttention, NodesArePartsOfOneOnly) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({2, 4, 4})), b = add_input(graph, shape_of({2, 4, 4}));
  uint32_t value = add_batch_product(graph, a, b);
  for (int i = 0; i < 2; ++i)
    value = add_batch_product(graph, add_node(graph, Operator::kSoftmax, {value}, {2, 0}), b);
  graph.outputs.push_back(value);
  EXPECT_THAT(kernels_of(graph, KernelFamily::kVectors),
              ElementsAre(Kernel::kVectorAttention, Kernel::kSoftmax, Kernel::kMatmulNarrow));
}

// A view has the rows of the scores for the bounds, and others for smaller sizes.
TEST(GpuAttention, RejectsSizesWhoseViewsHaveOtherRows) {
  GpuGraph graph;
  const uint32_t q = add_input(graph, shape_of({2, 4, 4})), k = add_input(graph, shape_of({2, 4, 4})),
                 v = add_input(graph, shape_of({2, 4, 4}));
  const uint32_t scores =
      add_node(graph, Operator::kReshape, {add_batch_product(graph, q, k)}, {kInferredSize, 4});
  const uint32_t weights = add_node(graph, Operator::kSoftmax, {scores}, {1, 0});
  graph.outputs.push_back(add_batch_product(
      graph,
      add_node(graph, Operator::kReshape, {weights, v}, {kCopiedSize - 6, kInferredSize, kCopiedSize - 7}),
      v));
  const ExecutionPlan plan = plan_of(graph, KernelFamily::kVectors);
  ASSERT_EQ(plan.fusions.attentions.all.size(), 1u);
  ShapeSolver solver(plan);
  const std::array<int64_t, 3> whole = {2, 4, 4}, narrow = {2, 4, 2}, few = {2, 2, 4};
  ASSERT_TRUE(solver.set_input(1, whole));
  EXPECT_TRUE(solver.solve());
  ASSERT_TRUE(solver.set_input(1, narrow));
  ASSERT_TRUE(solver.set_input(2, few));
  const Status solved = solver.solve();
  ASSERT_FALSE(solved);
  EXPECT_THAT(solved.error().message, HasSubstr("attention"));
}

// Repeated matrices have the rows and columns of k for the bounds, and half of the rows for smaller sizes.
TEST(GpuAttention, RejectsSizesWhoseRepetitionsHaveOtherRows) {
  GpuGraph graph;
  const uint32_t q = add_input(graph, shape_of({4, 2, 4})), k = add_input(graph, shape_of({4, 4, 4})),
                 v = add_input(graph, shape_of({2, 4, 4}));
  const uint32_t few = add_node(graph, Operator::kReshape, {v, v}, {-1, 1, kCopiedSize - 7, kCopiedSize - 8});
  const uint32_t repeated = add_node(graph, Operator::kExpand, {few}, {-1, 2, -1, -1});
  const uint32_t whole =
      add_node(graph, Operator::kReshape, {repeated, k}, {kCopiedSize - 6, kCopiedSize - 8, kInferredSize});
  const uint32_t scores = add_batch_product(graph, q, k);
  graph.outputs.push_back(
      add_batch_product(graph, add_node(graph, Operator::kSoftmax, {scores}, {2, 0}), whole));
  const ExecutionPlan plan = plan_of(graph, KernelFamily::kVectors);
  ASSERT_EQ(plan.fusions.attentions.all.size(), 1u);
  EXPECT_EQ(plan.fusions.attentions.all[0].v, v);
  ShapeSolver solver(plan);
  EXPECT_TRUE(solver.solve());
  const std::array<int64_t, 3> q_sizes = {2, 2, 4}, k_sizes = {2, 4, 4}, v_sizes = {2, 2, 4};
  ASSERT_TRUE(solver.set_input(0, q_sizes));
  ASSERT_TRUE(solver.set_input(1, k_sizes));
  ASSERT_TRUE(solver.set_input(2, v_sizes));
  const Status solved = solver.solve();
  ASSERT_FALSE(solved);
  EXPECT_THAT(solved.error().message, HasSubstr("attention"));
}

}  // namespace
}  // namespace etb::gpu
