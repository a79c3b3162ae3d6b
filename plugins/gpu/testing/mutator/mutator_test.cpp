// SPDX-License-Identifier: Apache-2.0
// Tests the tools of the fuzz targets: generated nodes of every operator can be planned, most changed payloads stay readable, and wrong
// plans end the process.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/official/ops.hpp"
#include "plugins/gpu/testing/graphs.hpp"
#include "plugins/gpu/testing/mutator/graph_mutator.hpp"
#include "plugins/gpu/testing/mutator/node_generator.hpp"
#include "plugins/gpu/testing/mutator/official_mutator.hpp"
#include "plugins/gpu/testing/planned.hpp"
#include "plugins/gpu/testing/zero_data.hpp"

namespace etb::gpu {
namespace {

std::vector<std::vector<std::byte>> files_of(const char* folder) {
  std::set<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.insert(entry.path());
  std::vector<std::vector<std::byte>> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_bytes(std::span(text));
    files.emplace_back(bytes.begin(), bytes.end());
  }
  return files;
}

Result<GpuGraph> read_official(std::span<const std::byte> bytes) {
  static const etb_named_data kZeros = zero_data();
  return read_official_payload(bytes, NamedData(&kZeros));
}

TEST(NodeGenerator, AppendsNodesOfEveryOperatorThatCanBePlanned) {
  constexpr Operator kOperators[] = {
#define ETB_GPU_OPERATOR(name, ...) Operator::k##name,
#include "plugins/gpu/graph/operators.def"
#undef ETB_GPU_OPERATOR
  };
  constexpr uint32_t kGraphs = 40;
  for (const Operator op : kOperators) {
    uint32_t planned = 0;
    for (uint32_t seed = 1; seed <= kGraphs; ++seed) {
      RandomNumbers random(seed);
      GpuGraph graph;
      NodeGenerator(random, graph).append(op);
      ASSERT_EQ(graph.nodes.back().op, op);
      const auto read = read_payload(write_payload(graph));
      planned += read && make_execution_plan(*read) ? 1 : 0;  // some sizes are too large
    }
    EXPECT_GE(planned, kGraphs / 4) << to_text(op);
  }
}

TEST(GraphMutator, KeepsMostGraphsPlannable) {
  GraphMutator mutator(7);
  constexpr int kChanges = 2000;
  int readable = 0, planned = 0;
  size_t longest = 0;
  GpuGraph graph = layer_graph();
  for (int i = 0; i < kChanges; ++i) {
    GpuGraph changed = graph;
    mutator.mutate(changed);
    auto read = read_payload(write_payload(changed));
    readable += read ? 1 : 0;
    if (!read || !make_execution_plan(*read)) continue;
    ++planned;
    longest = std::max(longest, read->nodes.size());
    graph = read->nodes.size() < 24 ? *std::move(read) : layer_graph();
  }
  EXPECT_GE(readable, kChanges * 6 / 10);
  EXPECT_GE(planned, kChanges * 3 / 10);
  EXPECT_GE(longest, 20u);
}

TEST(GraphMutator, JoinsGraphsToReadableOnes) {
  const auto files = files_of(ETB_PAYLOADS);
  ASSERT_GE(files.size(), 8u);
  int joined = 0, planned = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    GraphMutator mutator(static_cast<uint32_t>(i));
    auto graph = read_payload(files[i]);
    const auto other = read_payload(files[(i + 1) % files.size()]);
    if (!graph || !other) continue;
    const size_t nodes = graph->nodes.size() + other->nodes.size();
    mutator.join(*graph, *other);
    EXPECT_EQ(graph->nodes.size(), nodes);
    const auto read = read_payload(write_payload(*graph));
    ASSERT_TRUE(read) << i << ": " << read.error().message;
    ++joined;
    planned += make_execution_plan(*read) ? 1 : 0;
  }
  EXPECT_GE(joined, 8);
  EXPECT_GE(planned, 1);
}

// A payload that is decoded and written is the same graph.
TEST(OfficialMutator, WritesWhatItDecodes) {
  int compared = 0;
  for (const std::vector<std::byte>& file : files_of(ETB_OFFICIAL_PAYLOADS)) {
    const auto before = read_official(file);
    if (!before) continue;
    const auto decoded = decode_official(file);
    ASSERT_TRUE(decoded);
    const auto after = read_official(write_official(*decoded));
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(write_payload(*before), write_payload(*after));
    ++compared;
  }
  EXPECT_GE(compared, 15);
}

TEST(OfficialMutator, RepairsSizesThatDoNotFit) {
  int repaired = 0;
  for (const std::vector<std::byte>& file : files_of(ETB_OFFICIAL_PAYLOADS)) {
    auto graph = decode_official(file);
    if (!graph || !read_official(file) || graph->calls.empty()) continue;
    const auto result = static_cast<size_t>(graph->calls.back().arguments.back());
    if (graph->values[result].kind != vulkan_schema::Content::Tensor || graph->values[result].sizes.empty())
      continue;
    graph->values[result].sizes[0] += 1;
    if (read_official(write_official(*graph))) continue;  // the operator takes its sizes from the result
    repaired += read_official(repair(*graph)) ? 1 : 0;
  }
  EXPECT_GE(repaired, 8);
}

TEST(OfficialMutator, KeepsPayloadsReadableAndReachesOtherOperators) {
  OfficialMutator mutator(3);
  const auto files = files_of(ETB_OFFICIAL_PAYLOADS);
  std::set<std::string> before, after;
  constexpr int kChanges = 4000;
  int readable = 0;
  for (int i = 0; i < kChanges; ++i) {
    auto graph = decode_official(files[static_cast<size_t>(i) % files.size()]);
    if (!graph) continue;
    for (const OfficialCall& call : graph->calls) before.insert(call.op);
    mutator.mutate(*graph);
    if (!read_official(repair(*graph))) continue;
    ++readable;
    for (const OfficialCall& call : graph->calls) after.insert(call.op);
  }
  EXPECT_GE(readable, kChanges / 3);
  EXPECT_GT(after.size(), before.size() + 10);
}

TEST(CheckMemoryDeathTest, WrongPlansEndTheProcess) {
  GpuGraph graph;
  const uint32_t x = add_input(graph, shape_of({100}));
  const uint32_t a = add_unary(graph, UnaryFunction::kAbs, x), b = add_unary(graph, UnaryFunction::kExp, x);
  graph.outputs = {add_binary(graph, BinaryFunction::kAdd, a, b)};
  const auto plan = make_execution_plan(graph, KernelFamily::kRegisters, kMostOffsetAlignment, Fusion::kOff);
  ASSERT_TRUE(plan) << plan.error().message;
  check_memory(*plan);
  ExecutionPlan shared = *plan, outside = *plan, small = *plan, early = *plan;
  shared.memory.locations[b].offset = shared.memory.locations[a].offset;
  EXPECT_DEATH(check_memory(shared), "a value that another one has replaced");
  outside.memory.arena_bytes -= 16;
  EXPECT_DEATH(check_memory(outside), "a value outside of its memory");
  small.memory.locations[a].nbytes = 384;
  EXPECT_DEATH(check_memory(small), "a value with less memory than elements");
  std::swap(early.dispatches.front(), early.dispatches.back());
  EXPECT_DEATH(check_memory(early), "a value that is read before it is written");
}

}  // namespace
}  // namespace etb::gpu
