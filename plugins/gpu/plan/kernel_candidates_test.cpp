// SPDX-License-Identifier: Apache-2.0
// Tests of kernels that can compute the same node, of choices among them, and of plans that measure them.
#include "plugins/gpu/plan/kernel_candidates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr KernelFamily kFamilies[] = {KernelFamily::kRegisters, KernelFamily::kTiles, KernelFamily::kVectors,
                                      KernelFamily::kGroups};

// A relu after a product [rows, depth] * [depth, columns].
GpuGraph product_graph(uint32_t rows, uint32_t depth, uint32_t columns) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({rows, depth})),
                 b = add_input(graph, shape_of({depth, columns}));
  const uint32_t product = add_node(graph, Operator::kMatmul, {a, b}, {0}, {1, 1, -9, 9});
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kAbs, product));
  return graph;
}

std::vector<std::string> names_of(const std::vector<KernelCandidate>& candidates) {
  std::vector<std::string> names;
  for (const KernelCandidate& each : candidates)
    names.emplace_back(kKernelNames[index_of(each.dispatch.kernel)]);
  return names;
}

std::vector<std::string> candidates_of(const GpuGraph& graph, KernelFamily family, uint32_t node = 0) {
  const auto plan = make_execution_plan(graph, family);
  EXPECT_TRUE(plan) << plan.error().message;
  return names_of(find_candidates(*plan, node, kFamilies));
}

TEST(KernelCandidates, BeginWithTheKernelOfTheRule) {
  const GpuGraph graph = product_graph(40, 300, 64);
  EXPECT_THAT(candidates_of(graph, KernelFamily::kTiles),
              ElementsAre("TileMatmul", "MatmulWide", "MatmulNarrow", "TileMatmulEdge", "VectorMatmul",
                          "VectorMatmulHalf", "VectorMatmulRow", "GroupMatmulSlices", "GroupMatmul",
                          "GroupMatmulNarrow"));
  EXPECT_THAT(candidates_of(graph, KernelFamily::kGroups)[0], "GroupMatmulSlices");
}

TEST(KernelCandidates, AreThoseThatTheSizesAllow) {
  EXPECT_THAT(candidates_of(product_graph(40, 30, 9), KernelFamily::kVectors),
              ElementsAre("MatmulNarrowEdge", "MatmulWideEdge", "TileMatmulEdge", "GroupMatmulNarrowEdge",
                          "GroupMatmulEdge"));
  EXPECT_THAT(candidates_of(product_graph(40, 30, 0), KernelFamily::kTiles), IsEmpty()) << "nothing to do";
}

TEST(KernelCandidates, AreThoseOfProductsAndConvolutions) {
  const GpuGraph graph = product_graph(40, 30, 9);
  EXPECT_THAT(candidates_of(graph, KernelFamily::kTiles, 1), IsEmpty());
  GpuGraph image;
  const uint32_t x = add_input(image, shape_of({1, 8, 9, 9})),
                 w = add_constant(image, shape_of({8, 8, 3, 3}), "w");
  image.outputs.push_back(add_node(image, Operator::kConvolution, {x, w}, {1, 1, 1, 1, 1, 1, 1}, {-9, 9}));
  EXPECT_THAT(candidates_of(image, KernelFamily::kTiles),
              ElementsAre("TileConvolution", "Convolution", "VectorConvolution", "GroupConvolutionSlices",
                          "GroupConvolution"));
}

// Weights of float16 have kernels in two families.
TEST(KernelCandidates, ReadThePackingOfTheConstants) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({8, 16})), w = add_constant(graph, shape_of({64, 16}), "w");
  graph.values[w].host = HostNumbers::kHalves;
  graph.outputs.push_back(add_linear(graph, x, w));
  EXPECT_THAT(candidates_of(graph, KernelFamily::kTiles),
              ElementsAre("Matmul16Wide", "Matmul16Narrow", "GroupMatmul16Narrow", "GroupMatmul16"));
}

TEST(KernelChoices, HoldForTheSizesThatWereMeasured) {
  auto plan = make_execution_plan(product_graph(40, 300, 64), KernelFamily::kTiles);
  ASSERT_TRUE(plan) << plan.error().message;
  const MemoryPlan before = plan->memory;
  const std::vector<KernelCandidate> candidates = find_candidates(*plan, 0, kFamilies);
  const auto narrow = std::find_if(candidates.begin(), candidates.end(), [](const KernelCandidate& each) {
    return each.dispatch.kernel == Kernel::kMatmulNarrow;
  });
  ASSERT_NE(narrow, candidates.end());
  ASSERT_TRUE(choose_kernels(*plan, {narrow->choice, {KernelFamily::kTiles}}));
  EXPECT_EQ(plan->dispatches[0].kernel, Kernel::kMatmulNarrow);
  EXPECT_EQ(plan->memory.arena_bytes, before.arena_bytes);
  ShapeSolver solver(*plan);
  const std::array<int64_t, 2> fewer = {39, 300};
  ASSERT_TRUE(solver.set_input(0, fewer));
  ASSERT_TRUE(solver.solve());
  std::vector<Dispatch> dispatches;
  make_dispatches(plan->graph, plan->fusions, plan->kernels, solver.shapes(), plan->aliases, dispatches);
  EXPECT_EQ(dispatches[0].kernel, Kernel::kMatmulWide)
      << "the family of the choice, and the tile of its rule";
  EXPECT_TRUE(plan->uses_kernel[index_of(Kernel::kMatmulWide)]);
}

TEST(KernelTrials, RunEachCandidateOnMemoryOfItsOwn) {
  const auto plan = make_execution_plan(product_graph(40, 300, 64), KernelFamily::kTiles);
  ASSERT_TRUE(plan) << plan.error().message;
  const std::vector<KernelCandidate> candidates = find_candidates(*plan, 0, kFamilies);
  const Trial trial = make_trial(*plan, candidates);
  EXPECT_EQ(trial.fill_count, 2u);
  EXPECT_EQ(trial.candidate_count, candidates.size());
  ASSERT_EQ(trial.plan.dispatches.size(), 2 + candidates.size() * Trial::kCopies);
  const std::vector<Location>& locations = trial.plan.memory.locations;
  for (size_t i = 0; i < locations.size(); ++i) {
    EXPECT_EQ(locations[i].memory, i == 0 ? Memory::kTransfer : Memory::kArena);
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(locations[i].overlaps(locations[j])) << i << " and " << j;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Dispatch &first = trial.plan.dispatches[trial.first_of(i)], &wanted = candidates[i].dispatch;
    EXPECT_EQ(first.kernel, wanted.kernel);
    EXPECT_EQ(first.push, wanted.push);
    for (uint32_t b = 0; b < first.binding_count; ++b)
      EXPECT_EQ(locations[first.bindings[b]].nbytes, plan->memory.locations[wanted.bindings[b]].nbytes);
    EXPECT_TRUE(trial.plan.uses_kernel[index_of(first.kernel)]);
  }
  EXPECT_EQ(trial.plan.dispatches[0].kernel, Kernel::kCopy);
}

}  // namespace
}  // namespace etb::gpu
