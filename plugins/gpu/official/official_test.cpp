// SPDX-License-Identifier: Apache-2.0
// Tests the reader of official payloads: invalid ones, a kind of defect a test, and damaged ones of the exporter
// (tests/fuzz/gpu_official). tests/runtime/vulkan_programs_test.cpp tests results. official_fuzz.cpp searches for other defects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/official_file.hpp"

namespace etb::gpu {
namespace {

namespace fb = vulkan_schema;
using testing::HasSubstr;

// relu(x [2, 4] times the constant [3, 4]), with `change` applied before the calls' arguments are stored.
struct Layer {
  OfficialFile bytes;
  int32_t x = 0, weight = 0, product = 0, result = 0, null = 0;
  Layer() {
    bytes.constant("w", 48);
    x = bytes.tensor({2, 4});
    weight = bytes.tensor({3, 4}, kFloat32, 0);
    product = bytes.tensor({2, 3});
    result = bytes.tensor({2, 3});
    null = bytes.nothing();
    bytes.inputs = {0};
    bytes.outputs = {3};
  }
  std::vector<std::byte> finish() {
    bytes.call("aten.linear.default", {x, weight, null, product});
    bytes.call("aten.relu.default", {product, result});
    return bytes.finish();
  }
};

TEST(OfficialPayload, IsReadAsAGraph) {
  const auto graph = read(Layer().finish());
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].op, Operator::kMatmul);
  EXPECT_EQ(graph->nodes[1].debug_id, 1);
  EXPECT_EQ(graph->inputs.size(), 1u);
  EXPECT_EQ(graph->outputs.size(), 1u);
  EXPECT_TRUE(make_execution_plan(*graph));
}

TEST(OfficialPayload, IsReadAtAnOddAddress) {
  std::vector<std::byte> moved = Layer().finish();
  moved.insert(moved.begin(), std::byte{7});
  EXPECT_EQ(reason_of(std::span(moved).subspan(1)), "");
}

TEST(OfficialPayload, IsRejectedAtEveryLengthButItsOwn) {
  const std::vector<std::byte> bytes = Layer().finish();
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(reason_of(std::span(bytes).first(length)), "") << length;
}

TEST(OfficialPayload, HeadersThatPointElsewhereAreNamed) {
  const std::vector<std::byte> honest = Layer().finish();
  const auto with = [&](size_t at, auto number) {
    std::vector<std::byte> bytes = honest;
    std::memcpy(bytes.data() + at, &number, sizeof(number));
    return reason_of(bytes);
  };
  EXPECT_THAT(with(4, uint32_t{0}), HasSubstr("no 'VH00'"));
  EXPECT_THAT(with(8, uint16_t{29}), HasSubstr("size 29, expected 30"));
  EXPECT_THAT(with(10, UINT32_MAX), HasSubstr("graph at 4294967295"));
  EXPECT_THAT(with(14, UINT32_MAX), HasSubstr("graph at 32 of 4294967295 bytes"));
  EXPECT_THAT(with(22, UINT64_MAX), HasSubstr("of 18446744073709551615"));
  EXPECT_THAT(with(36, uint32_t{0}), HasSubstr("graph without identifier VK00"));
}

TEST(OfficialPayload, OfAnotherVersionIsIncompatible) {
  Layer layer;
  const auto graph = read(layer.bytes.finish("1"));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, Code::INCOMPATIBLE);
}

TEST(OfficialPayload, AllUnknownOperatorsAreNamedInOneError) {
  Layer layer;
  layer.bytes.call("aten.not_there.default", {layer.x, layer.product});
  layer.bytes.call("et_vk.nor_this.default", {layer.product, layer.result});
  const auto graph = read(layer.bytes.finish());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, Code::NOT_SUPPORTED);
  EXPECT_THAT(graph.error().message, HasSubstr("aten.not_there.default, et_vk.nor_this.default"));
}

TEST(OfficialPayload, IndicesBeyondTheValuesAreNamed) {
  Layer layer;
  layer.bytes.call("aten.relu.default", {77, layer.result});
  EXPECT_THAT(reason_of(layer.bytes), HasSubstr("call 0: no value 77, expected less than 5"));
  Layer input;
  input.bytes.inputs = {9};
  EXPECT_THAT(reason_of(input.finish()), HasSubstr("input 0: no value 9"));
  Layer no_tensor;
  no_tensor.bytes.outputs = {4};
  EXPECT_THAT(reason_of(no_tensor.finish()), HasSubstr("output 0: value 4, expected a tensor or a size"));
  Layer constant;
  constant.bytes.tensor({1}, kFloat32, 5);
  EXPECT_THAT(reason_of(constant.finish()), HasSubstr("value 5: constant 5, expected less than 1"));
}

TEST(OfficialPayload, CyclesAreNamedWithTheirCall) {
  Layer layer;
  layer.bytes.call("aten.relu.default", {layer.product, layer.result});
  layer.bytes.call("aten.relu.default", {layer.result, layer.product});
  EXPECT_THAT(reason_of(layer.bytes),
              HasSubstr("call 0 (aten.relu.default): argument 0: value 2 is read before it is computed"));
  Layer twice;
  twice.bytes.call("aten.relu.default", {twice.x, twice.x});
  EXPECT_THAT(reason_of(twice.bytes), HasSubstr("result 0: value 0 exists before"));
  Layer constant;
  constant.bytes.call("aten.relu.default", {constant.x, constant.weight});
  EXPECT_THAT(reason_of(constant.bytes), HasSubstr("result 0: value 1 is a constant"));
  Layer absent;
  absent.bytes.outputs = {2};
  EXPECT_THAT(reason_of(absent.bytes), HasSubstr("output 0: value 2 is never computed"));
}

TEST(OfficialPayload, ArgumentsOfOtherKindsAreNamed) {
  Layer layer;
  layer.bytes.call("aten.relu.default", {layer.null, layer.product});
  EXPECT_THAT(reason_of(layer.bytes),
              HasSubstr("call 0 (aten.relu.default): argument 0: value 4, expected a tensor"));
  Layer count;
  count.bytes.call("aten.relu.default", {count.x, count.x, count.product});
  EXPECT_THAT(reason_of(count.bytes), HasSubstr("3 arguments, expected 2"));
  Layer number;
  number.bytes.call("aten.leaky_relu.default", {number.x, number.null, number.product});
  EXPECT_THAT(reason_of(number.bytes), HasSubstr("argument 1: value 4, expected a number"));
  Layer list;
  list.bytes.call("aten.permute_copy.default", {list.x, list.x, list.product});
  EXPECT_THAT(reason_of(list.bytes), HasSubstr("argument 1: value 0, expected integers"));
  Layer type;
  const int32_t flags = type.bytes.tensor({2, 3}, kBool);
  type.bytes.call("aten.exp.default", {type.x, flags});
  EXPECT_THAT(reason_of(type.bytes), HasSubstr("result 0: bool, expected floats"));
}

TEST(OfficialPayload, SizesThatTheOperatorDoesNotComputeAreNamed) {
  Layer layer;
  const int32_t other = layer.bytes.tensor({2, 5});
  layer.bytes.call("aten.exp.default", {layer.x, other});
  layer.bytes.outputs = {static_cast<uint32_t>(other)};
  EXPECT_THAT(reason_of(layer.bytes), HasSubstr("value 5: sizes [2, 5], the operator computes [2, 4]"));
  Layer large;
  large.bytes.tensor({1u << 30, 4});
  EXPECT_THAT(reason_of(large.finish()), HasSubstr("value 5: more than 536870912 elements"));
  Layer rank;
  rank.bytes.tensor({1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(reason_of(rank.finish()), HasSubstr("value 5: rank 7, expected at most 6"));
}

// Rows of x [1, 3] as often as the program says; the number of rows of y [5, 2] leaves the region.
TEST(OfficialPayload, SizesEnterAndLeaveAsIntegers) {
  OfficialFile bytes;
  const int32_t x = bytes.tensor({1, 3}), y = bytes.tensor({5, 2}), count = bytes.size(), rows = bytes.size(),
                result = bytes.tensor({7, 3}), negated = bytes.tensor({5, 2});
  bytes.inputs = {static_cast<uint32_t>(x), static_cast<uint32_t>(count), static_cast<uint32_t>(y)};
  bytes.outputs = {static_cast<uint32_t>(rows), static_cast<uint32_t>(result)};
  bytes.call("aten.neg.default", {y, negated});
  bytes.call("sym_size.int", {negated, bytes.integer(0), rows});
  bytes.call("aten.expand_copy.default",
             {x, bytes.list({count, bytes.integer(3)}), bytes.flag(false), result});
  const auto graph = read(bytes.finish());
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->inputs.size(), 3u);
  ASSERT_EQ(graph->outputs.size(), 2u);
  const GpuValue &entering = graph->value(graph->inputs[1]), &leaving = graph->value(graph->outputs[0]);
  EXPECT_EQ(entering.host, HostNumbers::kSize);
  EXPECT_EQ(entering.shape.sizes[0], 7u);
  EXPECT_EQ(leaving.host, HostNumbers::kSize);
  const auto plan = make_execution_plan(*graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->bounds[graph->outputs[0]].sizes[0], 5u);
  EXPECT_EQ(plan->memory.locations[graph->inputs[1]].nbytes, 16u);
}

TEST(OfficialPayload, SizesThatNoCallComputesAreNamed) {
  OfficialFile bytes;
  const int32_t count = bytes.size();
  bytes.outputs = {static_cast<uint32_t>(count)};
  EXPECT_THAT(reason_of(bytes), HasSubstr("output 0: value 0 is never computed"));
}

// A convolution whose filters are an argument becomes products of the images below each number of the filters.
TEST(OfficialPayload, FiltersMayBeComputed) {
  const auto convolution = [](std::vector<uint32_t> filters, std::vector<uint32_t> out,
                              uint32_t channels = 4) {
    OfficialFile bytes;
    const int32_t x = bytes.tensor({2, channels, 9}), w = bytes.tensor(std::move(filters)),
                  made = bytes.tensor(std::move(out));
    bytes.inputs = {static_cast<uint32_t>(x), static_cast<uint32_t>(w)};
    bytes.outputs = {static_cast<uint32_t>(made)};
    bytes.call("aten.convolution.default",
               {x, w, bytes.nothing(), bytes.integers({2}), bytes.integers({1}), bytes.integers({1}),
                bytes.flag(false), bytes.integers({0}), bytes.integer(2), made});
    return reason_of(bytes);
  };
  EXPECT_EQ(convolution({6, 2, 3}, {2, 6, 5}), "");
  EXPECT_THAT(convolution({6, 2, 3}, {2, 6, 4}), HasSubstr("the operator computes [2, 6, 5]"));
  EXPECT_THAT(convolution({6, 3, 3}, {2, 6, 5}), HasSubstr("filters that do not fit the image"));
  EXPECT_THAT(convolution({6, 0, 3}, {2, 6, 5}, 0), HasSubstr("filters that do not fit the image"));
  EXPECT_THAT(convolution({6, 2, 65}, {2, 6, 5}), HasSubstr("of 65 numbers, expected 1 to 64"));
}

// Positions of maxima are computed from images for each number of the window, without padding and for a bounded number.
TEST(OfficialPayload, PositionsOfMaximaNeedWindowsWithoutPadding) {
  const auto positions = [](int64_t kernel, int64_t padding, uint32_t size) {
    OfficialFile bytes;
    const int32_t x = bytes.tensor({1, 2, 20, 20}), y = bytes.tensor({1, 2, size, size}),
                  at = bytes.tensor({1, 2, size, size}, kInt32);
    bytes.inputs = {static_cast<uint32_t>(x)};
    bytes.outputs = {static_cast<uint32_t>(y), static_cast<uint32_t>(at)};
    bytes.call("aten.max_pool2d_with_indices.default",
               {x, bytes.integers({kernel}), bytes.integers({2}), bytes.integers({padding}),
                bytes.integers({1}), bytes.flag(false), bytes.list({y, at})});
    return reason_of(bytes);
  };
  EXPECT_EQ(positions(2, 0, 10), "");
  EXPECT_THAT(positions(2, 1, 11), HasSubstr("positions of maxima of a pool with padding"));
  EXPECT_THAT(positions(9, 0, 6), HasSubstr("positions of maxima in windows of 81 numbers"));
}

// The exporter states 16384 for sizes without a bound.
TEST(OfficialPayload, BoundsThatNoMemoryHasBecomeSmaller) {
  const auto read_image = [](std::vector<uint32_t> sizes) {
    OfficialFile bytes;
    const int32_t x = bytes.tensor(sizes), y = bytes.tensor(sizes);
    bytes.inputs = {static_cast<uint32_t>(x)};
    bytes.outputs = {static_cast<uint32_t>(y)};
    bytes.call("aten.exp.default", {x, y});
    return read(bytes.finish());
  };
  const auto image = read_image({1, 3, 16384, 16384});
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_TRUE(image->has_smaller_bounds);
  EXPECT_EQ(image->value(image->inputs[0]).shape.sizes[3], 508u);
  const auto small = read_image({1, 3, 4096, 4096});
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_FALSE(small->has_smaller_bounds);
  EXPECT_EQ(small->value(small->inputs[0]).shape.sizes[3], 4096u);
  EXPECT_FALSE(read_image({1 << 20, 1 << 20}));
}

TEST(OfficialPayload, ConstantsAreAsLongAsTheirTensors) {
  Layer layer;
  layer.bytes.constant("short", 8);
  const int32_t weight = layer.bytes.tensor({3, 4}, kFloat32, 1);
  layer.bytes.call("aten.linear.default", {layer.x, weight, layer.null, layer.product});
  EXPECT_THAT(reason_of(layer.bytes), HasSubstr("value 5: constant 1 of 8 bytes, expected 48"));
  Layer stored;
  stored.bytes.constants.push_back(fb::CreateConstant(stored.bytes.builder, 16, 1 << 20));
  EXPECT_THAT(reason_of(stored.finish()), HasSubstr("constant 1: 1048576 bytes at 16, the payload stores 0"));
}

// x [2, 4] as codes of its rows, times a weight [3, 4] of 4 bits.
struct RowCodes {
  OfficialFile bytes;
  int32_t x = 0, codes = 0, scales = 0, group = 0, block = 0;
  RowCodes() {
    bytes.constant("codes", 6);
    bytes.constant("scales", 12);
    x = bytes.tensor({2, 4});
    codes = bytes.tensor({3, 2}, kUint8, 0);
    scales = bytes.tensor({1, 3}, kFloat32, 1);
    group = bytes.integer(4);
    block = bytes.integers({1, 4});
    bytes.inputs = {0};
  }
  std::vector<std::byte> finish() {
    const int32_t null = bytes.nothing(), scale = bytes.tensor({2}), zero_point = bytes.tensor({2}, kInt8);
    const int32_t result = bytes.tensor({2, 3});
    bytes.call("torchao.choose_qparams_affine.default",
               {x, bytes.text("ASYMMETRIC"), block, null, bytes.integer(-128), bytes.integer(127), null, null,
                null, bytes.flag(false), bytes.list({scale, zero_point})});
    bytes.call("et_vk.linear_dq8ca_q4gsw.default",
               {x, scale, zero_point, codes, null, scales, group, null, result});
    bytes.outputs = {static_cast<uint32_t>(result)};
    return bytes.finish();
  }
};

TEST(OfficialPayload, WeightsOf4BitsFitTheirProduct) {
  EXPECT_EQ(reason_of(RowCodes().finish()), "");
  RowCodes rows;
  rows.codes = rows.bytes.tensor({2, 3}, kUint8, 0);
  EXPECT_THAT(reason_of(rows.finish()), HasSubstr("argument 3: expected 3 rows of 4 codes"));
  RowCodes group;
  group.group = group.bytes.integer(3);
  EXPECT_THAT(reason_of(group.finish()), HasSubstr("argument 5: expected scales of 3 rows for groups of 3"));
  RowCodes none;
  none.group = none.bytes.integer(0);
  EXPECT_THAT(reason_of(none.finish()), HasSubstr("groups of 0"));
  // Another name of a smaller constant.
  RowCodes named;
  named.bytes.constant("one", 1);
  const int32_t one = named.bytes.tensor({1}, kUint8, 2);
  named.codes = named.bytes.tensor({3, 2}, kUint8);
  named.bytes.call("et_vk.prepack.default", {one, named.codes});
  EXPECT_THAT(reason_of(named.finish()), HasSubstr("constants of other sizes"));
  RowCodes blocks;
  blocks.block = blocks.bytes.integers({2, 4});
  EXPECT_THAT(reason_of(blocks.finish()), HasSubstr("argument 2: blocks of several rows"));
  RowCodes parts;
  parts.block = parts.bytes.integers({1, 2});
  EXPECT_THAT(reason_of(parts.finish()), HasSubstr("argument 2: parts of rows"));
}

// The exporter folds a part of a model that depends on nothing.
TEST(OfficialPayload, ConstantsMayBeOutputs) {
  Layer layer;
  layer.bytes.call("aten.linear.default", {layer.x, layer.weight, layer.null, layer.product});
  layer.bytes.outputs = {static_cast<uint32_t>(layer.product), static_cast<uint32_t>(layer.weight),
                         static_cast<uint32_t>(layer.weight)};
  const auto graph = read(layer.bytes.finish());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->outputs.size(), 3u);
  EXPECT_NE(graph->outputs[1], graph->outputs[2]);
  Layer alone;
  alone.bytes.constant("alone", 24);
  const int32_t constant = alone.bytes.tensor({2, 3}, kFloat32, 1);
  alone.bytes.call("aten.linear.default", {alone.x, alone.weight, alone.null, alone.product});
  alone.bytes.outputs = {static_cast<uint32_t>(alone.product), static_cast<uint32_t>(constant)};
  EXPECT_EQ(reason_of(alone.bytes), "");
}

// Every truncation of the exporter's payloads is rejected; with random bytes changed, they are rejected or planned.
TEST(OfficialPayload, DamagedOnesAreRejectedOrPlanned) {
  constexpr uint32_t kSeed = 20261126;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  size_t files = 0, accepted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ETB_OFFICIAL_PAYLOADS)) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(stream), {}};
    std::vector<std::byte> bytes(chars.size());
    std::memcpy(bytes.data(), chars.data(), chars.size());
    if (reason_of(bytes) != "") continue;  // a finding of the fuzzer
    ++files;
    uint32_t graph_nbytes = 0;
    std::memcpy(&graph_nbytes, bytes.data() + 14, sizeof(graph_nbytes));
    for (size_t length = 0; length < 32 + graph_nbytes; ++length)
      ASSERT_NE(reason_of(std::span(bytes).first(length)), "") << length;
    for (int i = 0; i < 4000; ++i) {
      std::vector<std::byte> changed = bytes;
      for (uint32_t k = 0; k <= random() % 3; ++k)
        changed[random() % changed.size()] =
            static_cast<std::byte>(random() % 4 == 0 ? random() : 1u << random() % 8);
      auto graph = read(changed);
      if (!graph) {
        ASSERT_NE(graph.error().message, "") << i;
        continue;
      }
      ++accepted;
      const auto plan = make_execution_plan(*std::move(graph));
      ASSERT_TRUE(plan || plan.error().message != "") << i;
    }
  }
  EXPECT_GE(files, 15u);
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace etb::gpu
