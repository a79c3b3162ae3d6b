// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/graph/payload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/graphs.hpp"

namespace etb::gpu {
namespace {

using testing::HasSubstr;

std::string reason_of(const GpuGraph& graph) {
  const auto read = read_payload(write_payload(graph));
  return read ? "" : read.error().message;
}

TEST(GpuPayload, IsReadAsItWasWritten) {
  const GpuGraph graph = layer_graph();
  const auto read = read_payload(write_payload(graph));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->inputs, graph.inputs);
  EXPECT_EQ(read->outputs, graph.outputs);
  ASSERT_EQ(read->nodes.size(), graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    EXPECT_EQ(read->nodes[i].op, graph.nodes[i].op);
    EXPECT_EQ(read->nodes[i].inputs, graph.nodes[i].inputs);
    EXPECT_EQ(read->nodes[i].ints, graph.nodes[i].ints);
    EXPECT_EQ(read->nodes[i].floats, graph.nodes[i].floats);
  }
  EXPECT_EQ(write_payload(*read), write_payload(graph));
}

TEST(GpuPayload, IsRejectedAtEveryLengthButItsOwn) {
  std::vector<std::byte> bytes = write_payload(layer_graph());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(read_payload(std::span(bytes).first(length))) << length;
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(read_payload(bytes));
}

TEST(GpuPayload, OfAnotherVersionIsIncompatible) {
  std::vector<std::byte> bytes = write_payload(layer_graph());
  bytes[4] = std::byte{5};
  const auto read = read_payload(bytes);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::INCOMPATIBLE);
  EXPECT_THAT(read.error().message, HasSubstr("version 5, plugin reads 1 to 4"));
}

// Plugins of the first release read payloads without bools.
TEST(GpuPayload, OnlyNumbersOfTheHostNeedTheSecondVersion) {
  GpuGraph graph = layer_graph();
  EXPECT_EQ(payload_version(graph), 1u);
  graph.values[graph.inputs[0]].host = HostNumbers::kBools;
  graph.values[graph.outputs[0]].host = HostNumbers::kIntegers;
  EXPECT_EQ(payload_version(graph), 2u);
  std::vector<std::byte> bytes = write_payload(graph);
  const auto read = read_payload(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->value(graph.inputs[0]).host, HostNumbers::kBools);
  EXPECT_EQ(read->value(graph.outputs[0]).host, HostNumbers::kIntegers);
  bytes[4] = std::byte{1};
  EXPECT_FALSE(read_payload(bytes)) << "bools in version 1";
  graph.values[graph.inputs[0]].host = HostNumbers::kIntegers;
  EXPECT_THAT(reason_of(graph), HasSubstr("numbers 3 of a value"));
}

GpuGraph coded_graph(const Shape& shape, uint32_t bits, uint32_t group) {
  GpuGraph graph;
  const uint32_t input = add_input(graph, shape_of({2, shape.sizes[1]}));
  graph.outputs.push_back(add_linear(graph, input, add_codes(graph, shape, bits, 0, group)));
  return graph;
}

TEST(GpuPayload, CodesNeedTheThirdVersion) {
  const GpuGraph graph = coded_graph(shape_of({3, 8}), 4, 4);
  EXPECT_EQ(payload_version(graph), 3u);
  std::vector<std::byte> bytes = write_payload(graph);
  const auto read = read_payload(bytes);
  ASSERT_TRUE(read) << read.error().message;
  const Codes &found = read->value(2).codes, &written = graph.value(2).codes;
  EXPECT_EQ(found.bits, written.bits);
  EXPECT_EQ(found.axis, written.axis);
  EXPECT_EQ(found.group, written.group);
  EXPECT_EQ(found.scales, written.scales);
  EXPECT_EQ(found.zero_points, written.zero_points);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(read_payload(std::span(bytes).first(length))) << length;
  bytes[4] = std::byte{2};
  EXPECT_FALSE(read_payload(bytes)) << "codes in version 2";
}

TEST(GpuPayload, HalvesNeedTheThirdVersion) {
  GpuGraph graph = layer_graph();
  for (GpuValue& value : graph.values) value.host = HostNumbers::kHalves;
  EXPECT_EQ(payload_version(graph), 3u);
  std::vector<std::byte> bytes = write_payload(graph);
  const auto read = read_payload(bytes);
  ASSERT_TRUE(read) << read.error().message;
  for (const GpuValue& value : read->values) EXPECT_EQ(value.host, HostNumbers::kHalves);
  bytes[4] = std::byte{2};
  EXPECT_FALSE(read_payload(bytes)) << "halves in version 2";
  graph.values[graph.inputs[0]].type = DataType::kInt32;
  EXPECT_THAT(reason_of(graph), HasSubstr("numbers 2 of a value"));
  GpuGraph codes = coded_graph(shape_of({3, 8}), 8, 0);
  codes.values[2].host = HostNumbers::kHalves;
  EXPECT_THAT(reason_of(codes), HasSubstr("codes of a value"));
}

TEST(GpuPayload, APieceOfATableNeedsTheFourthVersion) {
  GpuGraph graph;
  const uint32_t index = add_input(graph, shape_of({3})), table = add_constant(graph, shape_of({2, 4}), "8");
  graph.outputs = {add_node(graph, Operator::kEmbedding, {table, index}, {})};
  EXPECT_EQ(payload_version(graph), 1u);
  graph.nodes[0].ints = {5};
  EXPECT_EQ(payload_version(graph), 4u);
  std::vector<std::byte> bytes = write_payload(graph);
  const auto read = read_payload(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->nodes[0].ints, std::vector<int32_t>{5});
  bytes[4] = std::byte{3};
  EXPECT_FALSE(read_payload(bytes));
  graph.nodes[0].ints = {-1};
  EXPECT_FALSE(read_payload(write_payload(graph)));
}

TEST(GpuPayload, CodesHaveAScaleForEachElementOfTheAxisOrOne) {
  const GpuGraph graph = coded_graph(shape_of({3, 8}), 8, 0);
  EXPECT_EQ(reason_of(graph), "");
  const auto reason_with = [&](auto change) {
    GpuGraph changed = graph;
    change(changed);
    return reason_of(changed);
  };
  EXPECT_EQ(reason_with([](GpuGraph& g) { g.values[1].shape = {}; }), "") << "one for all";
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[1].shape = shape_of({4}); }),
              HasSubstr("4 scales, expected 3"));
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[2].codes.axis = 1; }),
              HasSubstr("3 scales, expected 8"));
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[2].codes.axis = 2; }), HasSubstr("rank is 2"));
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[2].codes.group = 3; }), HasSubstr("groups of 3"));
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[2].codes.group = 4; }),
              HasSubstr("3 scales, expected 6"));
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[2].codes.bits = 2; }), HasSubstr("codes of 2 bits"));
  for (const uint32_t scales : {0u, 2u, 3u, 1000u})  // an input, itself, a result, nothing
    EXPECT_THAT(reason_with([&](GpuGraph& g) { g.values[2].codes.scales = scales; }),
                HasSubstr("expected a constant of floats"))
        << scales;
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[2].codes.zero_points = 0; }),
              HasSubstr("expected a constant of floats"));
  EXPECT_THAT(reason_with([](GpuGraph& g) { g.values[0].codes = g.values[2].codes; }),
              HasSubstr("codes of a value that is no constant"));
}

TEST(GpuPayload, CountsThatDoNotFitAllocateNothing) {
  std::vector<std::byte> bytes = write_payload(layer_graph());
  const uint32_t many = 0xfffffff0;
  std::memcpy(bytes.data() + 8, &many, sizeof(many));
  const auto read = read_payload(bytes);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("more than fit"));
}

TEST(GpuPayload, NodesReadOnlyWhatEarlierNodesMade) {
  GpuGraph graph = layer_graph();
  graph.nodes[1].inputs[0] = graph.nodes[2].output;
  EXPECT_THAT(reason_of(graph), HasSubstr("not known before it"));
  graph = layer_graph();
  graph.nodes[1].inputs[0] = 1000;
  EXPECT_THAT(reason_of(graph), HasSubstr("not known before it"));
  graph = layer_graph();
  graph.nodes[1].output = graph.nodes[0].output;
  EXPECT_THAT(reason_of(graph), HasSubstr("expected a new result"));
}

TEST(GpuPayload, OutputsAreResultsEachOnce) {
  GpuGraph graph = layer_graph();
  graph.outputs.push_back(graph.outputs[0]);
  EXPECT_THAT(reason_of(graph), HasSubstr("each once"));
  graph = layer_graph();
  graph.outputs[0] = graph.inputs[0];
  EXPECT_THAT(reason_of(graph), HasSubstr("expected a result"));
}

TEST(GpuPayload, OperatorsHaveTheirNumberOfFields) {
  GpuGraph graph = layer_graph();
  graph.nodes[0].ints.push_back(0);
  EXPECT_THAT(reason_of(graph), HasSubstr("Binary with 2 inputs, 2 integers"));
  graph = layer_graph();
  graph.nodes[0].op = static_cast<Operator>(999);
  EXPECT_THAT(reason_of(graph), HasSubstr("operator 999"));
}

// Sizes that a payload may state, but no rule allows.
TEST(GpuPayload, SizesAreCheckedBeforeTheyArePlanned) {
  GpuGraph graph = layer_graph();
  graph.values[graph.inputs[1]].shape = shape_of({5});
  const auto plan = make_execution_plan(graph);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::INVALID_DATA);
  EXPECT_THAT(plan.error().message, HasSubstr("node 0 (Binary): operands whose sizes do not broadcast"));
  graph.values[graph.inputs[1]].shape = shape_of({65536, 65536});
  EXPECT_THAT(reason_of(graph), HasSubstr("more than 536870912 elements"));
}

}  // namespace
}  // namespace etb::gpu
