// SPDX-License-Identifier: Apache-2.0
// Tests of the plan of a run: memory, barriers, packing, sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>

#include "plugins/gpu/plan/codes.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/run/constants.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A chain of absolute values.
GpuGraph chain(uint32_t length) {
  GpuGraph graph;
  uint32_t value = add_input(graph, shape_of({100}));
  for (uint32_t i = 0; i < length; ++i) value = add_unary(graph, UnaryFunction::kAbs, value);
  graph.outputs.push_back(value);
  return graph;
}

// A plan with a dispatch for each node.
Result<ExecutionPlan> plan_of_nodes(GpuGraph graph) {
  return make_execution_plan(std::move(graph), KernelFamily::kRegisters, kMostOffsetAlignment, Fusion::kOff);
}

// A constant of 80 kB is in memory and in a file, with other numbers, so that the test sees which ones are read.
TEST(GpuConstants, LargeOnesComeFromTheFile) {
  constexpr uint32_t kCount = 20000;
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({kCount})), w = add_constant(graph, shape_of({kCount}), "w");
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kAdd, x, w));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  struct Weights {
    std::vector<float> in_memory = std::vector<float>(kCount, 1);
    std::FILE* file = std::tmpfile();
    bool has_file = true;
  } weights;
  const std::vector<float> in_file(kCount, 2);
  ASSERT_NE(weights.file, nullptr);
  std::fwrite("head", 1, 4, weights.file);
  std::fwrite(in_file.data(), sizeof(float), kCount - 1, weights.file);  // the last one is missing
  std::fflush(weights.file);
  const etb_named_data raw = {ETB_INIT_SIZE(etb_named_data), 0, &weights,
                              [](void* ctx, const char*, etb_payload_view* out, etb_error*) -> etb_status {
                                auto& from = *static_cast<Weights*>(ctx);
                                out->data = from.in_memory.data();
                                out->nbytes = from.in_memory.size() * sizeof(float);
                                out->fd = from.has_file ? fileno(from.file) : -1;
                                out->fd_offset_bytes = 4;
                                return ETB_OK;
                              }};
  std::vector<std::byte> written(plan->memory.constant_bytes);
  const auto* const numbers =
      reinterpret_cast<const float*>(written.data() + plan->memory.locations[w].offset);
  ASSERT_TRUE(write_constants(*plan, NamedData(&raw), written.data()));
  EXPECT_EQ(numbers[0], 2);
  EXPECT_EQ(numbers[kCount - 2], 2);
  EXPECT_EQ(numbers[kCount - 1], 1) << "a file that is too short";
  weights.has_file = false;
  ASSERT_TRUE(write_constants(*plan, NamedData(&raw), written.data()));
  EXPECT_EQ(numbers[0], 1);
  std::fclose(weights.file);
}

// Those of products stay float16, and others are float32 on the device.
TEST(GpuConstants, HalvesStayOrBecomeFloats) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 2})), w = add_constant(graph, shape_of({3, 2}), "w"),
                 bias = add_constant(graph, shape_of({3}), "w");
  for (const uint32_t id : {w, bias}) graph.values[id].host = HostNumbers::kHalves;
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kAdd, add_linear(graph, x, w), bias));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  uint16_t halves[] = {0x3c00, 0x4000, 0x8001, 0x7c00, 0xbc00, 0x0000};  // 1, 2, -2^-24, infinity, -1, 0
  etb_bytes bytes = {halves, sizeof(halves)};
  const etb_named_data raw = {ETB_INIT_SIZE(etb_named_data), 0, &bytes,
                              [](void* ctx, const char*, etb_payload_view* out, etb_error*) -> etb_status {
                                out->data = static_cast<etb_bytes*>(ctx)->data;
                                out->nbytes = static_cast<etb_bytes*>(ctx)->nbytes;
                                return ETB_OK;
                              }};
  std::vector<std::byte> written(plan->memory.constant_bytes);
  const auto floats_of = [&](uint32_t id, size_t count) {
    std::vector<float> out(count);
    std::memcpy(out.data(), written.data() + plan->memory.locations[id].offset, count * sizeof(float));
    return out;
  };
  ASSERT_TRUE(write_constants(*plan, NamedData(&raw), written.data()));
  // Rows of 4 numbers, two in a word: 1, -2^-24, -1, 0; 2, infinity, 0, 0.
  EXPECT_EQ(plan->memory.locations[w].nbytes, 16u);
  uint32_t words[4];
  std::memcpy(words, written.data() + plan->memory.locations[w].offset, sizeof(words));
  EXPECT_THAT(words, ElementsAre(0x80013c00u, 0xbc00u, 0x7c004000u, 0u));
  EXPECT_THAT(floats_of(bias, 3), ElementsAre(1, 2, -0x1p-24f));
  bytes.nbytes -= 1;
  const Status cut = write_constants(*plan, NamedData(&raw), written.data());
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("of 11 bytes, expected 12"));
}

TEST(GpuMemoryPlan, ChainNeedsTwoBlocks) {
  const auto plan = plan_of_nodes(chain(10));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->memory.arena_bytes, 512u + 400u);  // the second block begins at a multiple of 256
  EXPECT_EQ(plan->memory.transfer_bytes, 2 * 512u);
}

TEST(GpuMemoryPlan, ValuesThatLiveAtTheSameTimeDoNotOverlap) {
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({64, 3}));
  std::vector<uint32_t> live;
  for (uint32_t i = 0; i < 6; ++i)
    live.push_back(add_unary(graph, UnaryFunction::kNeg, i == 0 ? input : live.back()));
  graph.outputs.push_back(add_node(graph, Operator::kCat, live, {0}));
  const auto plan = plan_of_nodes(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  for (size_t a = 0; a < live.size(); ++a)
    for (size_t b = a + 1; b < live.size(); ++b)
      EXPECT_FALSE(plan->memory.locations[live[a]].overlaps(plan->memory.locations[live[b]]))
          << a << " " << b;
}

TEST(GpuMemoryPlan, ReshapeSharesMemoryUnlessItIsAnOutput) {
  GpuGraph graph;
  const uint32_t made = add_unary(graph, UnaryFunction::kAbs, add_input(graph, shape_of({4, 6})));
  const uint32_t view = add_node(graph, Operator::kReshape, {made}, {24});
  graph.outputs.push_back(add_unary(graph, UnaryFunction::kNeg, view));
  graph.outputs.push_back(add_node(graph, Operator::kReshape, {made}, {kInferredSize, 3}));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->memory.locations[view].offset, plan->memory.locations[made].offset);
  ASSERT_EQ(plan->dispatches.size(), 3u);
  EXPECT_EQ(plan->dispatches[2].kernel, Kernel::kCopy);
}

TEST(GpuBarriers, StandOnlyBetweenDispatchesThatDependOnEachOther) {
  GpuGraph graph;
  const uint32_t a = add_input(graph, shape_of({8})), b = add_input(graph, shape_of({8}));
  const uint32_t left = add_unary(graph, UnaryFunction::kAbs, a),
                 right = add_unary(graph, UnaryFunction::kNeg, b);
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kAdd, left, right));
  const auto plan = plan_of_nodes(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->needs_barrier, ElementsAre(false, false, true));
}

TEST(GpuBarriers, SeparateAReaderFromTheNextWriterOfItsMemory) {
  const auto plan = plan_of_nodes(chain(4));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->needs_barrier, ElementsAre(false, true, true, true));
}

GpuValue value_of(const Shape& shape) {
  GpuValue value;
  value.role = ValueRole::kConstant;
  value.shape = shape;
  return value;
}

TEST(GpuPacking, TransposesWeightsAndPadsRows) {
  const Shape shape = shape_of({3, 2});
  const float plain[] = {1, 2, 3, 4, 5, 6};
  const PackedConstant constant{0, Packing::kTransposed};
  std::vector<float> packed(packed_numel(constant, value_of(shape)));
  pack(constant, shape, reinterpret_cast<const std::byte*>(plain), packed.data());
  EXPECT_THAT(packed, ElementsAre(1, 3, 5, 0, 2, 4, 6, 0));
}

TEST(GpuPacking, TilesFilters) {
  const Shape shape = shape_of({4, 2, 1, 1});
  const float plain[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const PackedConstant constant{0, Packing::kFilters, 2};
  std::vector<float> packed(packed_numel(constant, value_of(shape)));
  ASSERT_EQ(packed.size(), 32u);
  pack(constant, shape, reinterpret_cast<const std::byte*>(plain), packed.data());
  EXPECT_THAT(std::vector<float>(packed.begin(), packed.begin() + 10),
              ElementsAre(1, 3, 0, 0, 0, 0, 0, 0, 2, 4));
  EXPECT_THAT(std::vector<float>(packed.begin() + 16, packed.begin() + 18), ElementsAre(5, 7));
}

TEST(GpuPacking, ConstantThatIsReadInTwoWaysIsStoredTwice) {
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({4, 4})),
                 weight = add_constant(graph, shape_of({4, 4}), "w");
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kAdd, add_linear(graph, input, weight), weight));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->constants.size(), 2u);
}

// [5, 6] becomes rows of 8 codes: of 8 bits six rows, of 4 bits three pairs of rows.
TEST(GpuPacking, CodesOfEightBitsTakeAQuarterAndOfFourBitsAnEighth) {
  for (const uint32_t bits : {8u, 4u}) {
    GpuGraph graph;
    const uint32_t input = add_input(graph, shape_of({2, 6})),
                   weight = add_codes(graph, shape_of({5, 6}), bits, 0, bits == 4 ? 3 : 0);
    graph.outputs.push_back(add_linear(graph, input, weight));
    const auto plan = make_execution_plan(graph);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->constants.size(), 2u);
    EXPECT_EQ(plan->memory.locations[weight].nbytes, bits == 8 ? 48u : 32u);  // multiples of 16
    const uint32_t factors = plan->graph.value(weight).factors;
    EXPECT_EQ(plan->memory.locations[factors].nbytes, bits == 8 ? 64u : 128u);
    EXPECT_EQ(plan->dispatches[0].binding_count, 6u);
  }
}

TEST(GpuPacking, CodesAreDecodedForOtherReaders) {
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({5, 6})),
                 weight = add_codes(graph, shape_of({5, 6}), 8, 0);
  graph.outputs.push_back(add_binary(graph, BinaryFunction::kMul, input, weight));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->constants.size(), 1u);
  EXPECT_EQ(plan->memory.locations[weight].nbytes, 128u);
  EXPECT_EQ(plan->graph.value(weight).factors, kNoValue);
}

TEST(GpuPacking, CodesAreDecodedAlongTheirAxisAndGroups) {
  const int8_t codes[] = {1, 2, 3, 4, -5, -6, -7, -8};
  GpuValue value = value_of(shape_of({2, 4}));
  value.codes = {4, 0, 2, 0, 0};
  std::vector<float> numbers(8);
  const float scales[] = {1, 10, 100, 1000}, zeros[] = {0, 1, 2, 3};
  decode({value, scales, zeros, std::as_bytes(std::span(codes))}, numbers);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 20, 30, -700, -800, -10000, -11000));
  value.codes = {8, 1, 0, 0, kNoValue};
  decode({value, scales, {}, std::as_bytes(std::span(codes))}, numbers);
  EXPECT_THAT(numbers, ElementsAre(1, 20, 300, 4000, -5, -60, -700, -8000));
}

// Nothing but the program's data can break this.
TEST(GpuPacking, CodesBeyondTheirBitsAreRejected) {
  const int8_t codes[] = {7, -8, 8, 0};
  GpuValue value = value_of(shape_of({1, 4}));
  value.codes = {4, 0, 0, 0, kNoValue};
  value.key = "w";
  const PackedConstant constant{0, Packing::kTransposedCodes};
  std::vector<uint32_t> words(code_word_count(constant, value));
  const CodedConstant from{value, {}, {}, std::as_bytes(std::span(codes))};
  const Status packed = pack_codes(constant, from, words);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().message, "named data 'w': code 8, expected -8 to 7");
  value.codes.bits = 8;
  words.resize(code_word_count(constant, value));
  EXPECT_TRUE(pack_codes(constant, from, words));
  EXPECT_THAT(words, ElementsAre(135u, 120u, 136u, 128u));
}

TEST(GpuShapes, FollowTheInputsWithinTheBounds) {
  const auto plan = make_execution_plan(layer_graph());
  ASSERT_TRUE(plan) << plan.error().message;
  ShapeSolver solver(*plan);
  const int64_t smaller[] = {5, 4}, larger[] = {9, 4};
  ASSERT_TRUE(solver.set_input(0, smaller));
  ASSERT_TRUE(solver.solve());
  EXPECT_EQ(solver.shapes()[plan->graph.outputs[0]], shape_of({5, 3}));
  EXPECT_FALSE(solver.set_input(0, larger));
}

// Returns a convolution and a batch norm with `reads` readers of the convolution's result.
GpuGraph norm_graph(uint32_t reads, const Shape& statistics = shape_of({8})) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 4, 6, 6})),
                 weight = add_constant(graph, shape_of({8, 4, 1, 1}), "w"),
                 numbers = add_constant(graph, statistics, "n");
  const uint32_t made =
      add_node(graph, Operator::kConvolution, {x, weight}, {1, 1, 0, 0, 1, 1, 1}, {-kInfinity, kInfinity});
  const uint32_t normal =
      add_node(graph, Operator::kBatchNorm, {made, numbers, numbers, numbers, numbers}, {}, {1e-5f});
  graph.outputs.push_back(
      add_node(graph, Operator::kUnary, {normal}, {static_cast<int32_t>(UnaryFunction::kClamp)}, {0, 6}));
  if (reads > 1) graph.outputs.push_back(add_unary(graph, UnaryFunction::kAbs, made));
  return graph;
}

TEST(GpuBatchNorms, BecomePartOfTheConvolutionThatOnlyTheyRead) {
  const auto folded = make_execution_plan(norm_graph(1));
  ASSERT_TRUE(folded) << folded.error().message;
  ASSERT_EQ(folded->graph.nodes.size(), 1u);
  EXPECT_THAT(folded->graph.nodes[0].floats, ElementsAre(0, 6));
  EXPECT_EQ(folded->graph.nodes[0].inputs.size(), 3u);
  const auto shared = make_execution_plan(norm_graph(2));
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->graph.nodes.size(), 4u);
}

// Statistics have a number for each channel, in any shape. The bias of the convolution has one dimension.
TEST(GpuBatchNorms, StatisticsMayHaveOtherShapes) {
  const auto folded = make_execution_plan(norm_graph(1, shape_of({1, 8, 1, 1})));
  ASSERT_TRUE(folded) << folded.error().message;
  ASSERT_EQ(folded->graph.nodes.size(), 1u);
  ShapeSolver solver(*folded);
  const Status solved = solver.solve();
  EXPECT_TRUE(solved) << solved.error().message;
}

TEST(GpuBatchNorms, FoldIntoFiltersAndBias) {
  const float weight[] = {2, 3}, bias[] = {10, 20}, mean[] = {1, 2}, variance[] = {3, 8};
  const BatchNormNumbers numbers{weight, bias, mean, variance, 1};
  std::vector<float> filters = {1, 2, 3, 4}, convolution_bias = {5, 8};
  fold_filters(numbers, filters);
  fold_bias(numbers, convolution_bias);
  EXPECT_THAT(filters, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(convolution_bias, ElementsAre(14, 26));
}

// Each factor is rounded once, with the filter: an error of its own would be one of all results of the channel.
TEST(GpuBatchNorms, FactorsAreNotRounded) {
  std::vector<float> weight, bias(64, 0.0f), mean(64, 0.0f), variance, filters(64, 0.7f);
  for (int c = 0; c < 64; ++c) {
    weight.push_back(0.3f + 0.01f * static_cast<float>(c));
    variance.push_back(0.9f + 0.013f * static_cast<float>(c));
  }
  fold_filters({weight, bias, mean, variance, 1e-5f}, filters);
  for (size_t c = 0; c < 64; ++c) {
    const double factor = double{weight[c]} / std::sqrt(double{variance[c]} + double{1e-5f});
    EXPECT_EQ(filters[c], static_cast<float>(double{0.7f} * factor)) << c;
  }
}

TEST(GpuDispatches, TilesAreChosenBySizes) {
  for (const uint32_t columns : {32u, 33u}) {
    GpuGraph graph;
    const uint32_t a = add_input(graph, shape_of({17, 8})), b = add_input(graph, shape_of({8, columns}));
    graph.outputs.push_back(add_node(graph, Operator::kMatmul, {a, b}, {0}, {1, 1, -1, 1}));
    const auto plan = make_execution_plan(graph, KernelFamily::kTiles);
    ASSERT_TRUE(plan) << plan.error().message;
    const bool is_whole = columns == 32;
    EXPECT_EQ(plan->dispatches[0].kernel, is_whole ? Kernel::kTileMatmul : Kernel::kTileMatmulEdge);
    EXPECT_THAT(plan->dispatches[0].items, ElementsAre(is_whole ? 8u : 24u, 2u, 1u));
  }
}

// Returns a convolution with windows of one pixel, of images of at most size * size pixels.
GpuGraph pointwise_graph(uint32_t size) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({1, 4, size, size})),
                 weight = add_constant(graph, shape_of({12, 4, 1, 1}), "w");
  graph.outputs.push_back(
      add_node(graph, Operator::kConvolution, {x, weight}, {1, 1, 0, 0, 1, 1, 1}, {0, 6}));
  return graph;
}

// One kernel less to compile, for networks that end with images of 7 x 7.
TEST(GpuDispatches, PointwiseConvolutionsOfOddImagesAreNoProductsOnTiles) {
  const auto odd = make_execution_plan(pointwise_graph(7), KernelFamily::kTiles),
             even = make_execution_plan(pointwise_graph(8), KernelFamily::kTiles),
             other = make_execution_plan(pointwise_graph(7), KernelFamily::kRegisters);
  ASSERT_TRUE(odd && even && other);
  EXPECT_EQ(odd->dispatches[0].kernel, Kernel::kTileConvolution);
  EXPECT_EQ(odd->constants[0].packing, Packing::kFilters);
  EXPECT_FALSE(odd->uses_kernel[index_of(Kernel::kTileMatmulEdge)]);
  EXPECT_EQ(even->dispatches[0].kernel, Kernel::kTileMatmul);
  EXPECT_EQ(even->constants[0].packing, Packing::kPlain);
  EXPECT_EQ(other->constants[0].packing, Packing::kPlain);
}

TEST(GpuDispatches, TheBoundsDecideHowPointwiseConvolutionsAreComputed) {
  for (const auto& [bound, kernel] :
       {std::pair(7u, Kernel::kTileConvolution), std::pair(8u, Kernel::kTileMatmulEdge)}) {
    const auto plan = make_execution_plan(pointwise_graph(bound), KernelFamily::kTiles);
    ASSERT_TRUE(plan) << plan.error().message;
    ShapeSolver solver(*plan);
    const int64_t sizes[] = {1, 4, bound - 1, 5};
    ASSERT_TRUE(solver.set_input(0, sizes));
    ASSERT_TRUE(solver.solve());
    std::vector<Dispatch> dispatches;
    make_dispatches(plan->graph, plan->fusions, plan->kernels, solver.shapes(), plan->aliases, dispatches);
    EXPECT_EQ(dispatches[0].kernel, kernel);
    EXPECT_TRUE(plan->uses_kernel[index_of(kernel)]);
  }
}

// The kernel has descriptors of another kind than those of `tiles`, so the bounds decide, not the sizes of a run.
TEST(GpuDispatches, BoundsDecideWhetherAProductIsExact) {
  for (const auto& [rows, is_exact] : {std::pair{16u, true}, {1000u, false}}) {
    GpuGraph graph;
    const uint32_t input = add_input(graph, shape_of({rows, 8}));
    graph.outputs.push_back(add_linear(graph, input, add_constant(graph, shape_of({4, 8}), "w")));
    const auto plan = make_execution_plan(graph, KernelFamily::kTiles);
    ASSERT_TRUE(plan) << plan.error().message;
    ShapeSolver solver(*plan);
    ASSERT_TRUE(solver.set_input(0, std::array<int64_t, 2>{2, 8}));
    ASSERT_TRUE(solver.solve());
    std::vector<Dispatch> dispatches;
    make_dispatches(plan->graph, plan->fusions, plan->kernels, solver.shapes(), plan->aliases, dispatches);
    ASSERT_EQ(dispatches.size(), 1u);
    EXPECT_EQ(dispatches[0].kernel == Kernel::kExactProduct, is_exact) << rows;
    EXPECT_EQ(plan->uses_kernel[index_of(Kernel::kExactProduct)], is_exact) << rows;
  }
}

// Lavapipe ends long loops without a word.
TEST(GpuDispatches, LoopsOfTooManyTurnsAreRejected) {
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({1, 70000}));
  graph.outputs.push_back(add_linear(graph, input, add_constant(graph, shape_of({1, 70000}), "w")));
  const auto plan = make_execution_plan(graph);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("a loop of 70000 turns"));
}

}  // namespace
}  // namespace etb::gpu
