// SPDX-License-Identifier: Apache-2.0
// Tests claims and payloads of graphs with codes and with float16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/graph/payload.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/gpu/testing/image_model.hpp"

namespace etb::gpu {
namespace {

using graph::value_arg;
using testing::HasSubstr;

std::vector<std::string> claims(const graph::ImageBytes& image, const Target& target = Target()) {
  return claims_by(
      image, [&](const Graph& graph, const PartitionSink& sink) { return claim_nodes(graph, sink, target); });
}
Result<Artifact> compile(const graph::ImageBytes& image) { return compile_by(image, compile_region); }

GpuGraph compiled(const graph::ImageBytes& image) {
  const auto artifact = compile(image);
  EXPECT_TRUE(artifact) << artifact.error().message;
  if (!artifact) return {};
  const auto read = read_payload(artifact->payload);
  EXPECT_TRUE(read) << read.error().message;
  EXPECT_EQ(artifact->format_version, payload_version(*read));
  return read ? *read : GpuGraph();
}

// The value that the second input of node `index` is.
const GpuValue& weight_of(const GpuGraph& graph, size_t index = 0) {
  return graph.value(graph.nodes.at(index).inputs.at(1));
}

// A target whose kernels read so many bytes of a buffer.
struct SmallTarget {
  explicit SmallTarget(int64_t range)
      : attribute(i64_option("max_range_bytes", range, range, range, 0, "").default_option()) {
    raw.struct_size = ETB_INIT_SIZE(etb_target);
    raw.kind = "gpu";
    raw.name = "";
    raw.attributes = &attribute;
    raw.attribute_count = 1;
  }
  SmallTarget(const SmallTarget&) = delete;
  Target target() const { return *Target::make(&raw); }
  CompileRequest request() const {
    etb_compile_args args{};
    args.target = &raw;
    return *CompileRequest::make(args, {});
  }
  etb_option attribute;
  etb_target raw{};
};

// relu of `rows` rows of 1,024 bytes.
graph::ImageBytes relu_of_rows(int64_t rows) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT32, {rows, 256});
  return model.finish(model.node("aten.relu.default", {value_arg(x, "self")}, {rows, 256}));
}

TEST(GpuTargets, ASmallerRangeAllowsSmallerValues) {
  const SmallTarget small(16 * 1024);
  EXPECT_EQ(claims(relu_of_rows(16), small.target()).at(0), "");
  EXPECT_TRUE(compile_by(relu_of_rows(16), compile_region, small.request()));
  EXPECT_EQ(claims(relu_of_rows(17)).at(0), "") << "without a target";
  EXPECT_THAT(claims(relu_of_rows(17), small.target()).at(0),
              HasSubstr("attribute: value 0 of 17408 bytes, expected at most 16384"));
  const auto too_large = compile_by(relu_of_rows(17), compile_region, small.request());
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, Code::NOT_SUPPORTED);
}

// Payloads run on every device with such buffers, so a target with larger ones gets no larger values.
TEST(GpuTargets, ALargerRangeAllowsNoLargerValues) {
  const SmallTarget large(int64_t{1} << 32);
  const auto rows = static_cast<int64_t>(kLeastRangeBytes / 1024);
  EXPECT_EQ(claims(relu_of_rows(rows), large.target()).at(0), "");
  EXPECT_THAT(claims(relu_of_rows(rows + 1), large.target()).at(0), HasSubstr("expected at most 134217728"));
}

TEST(GpuTargets, ARangeThatIsNoneIsAnError) {
  SmallTarget none(0);
  const auto limit = compile_by(relu_of_rows(1), compile_region, none.request());
  ASSERT_FALSE(limit);
  EXPECT_EQ(limit.error().message, "target: max_range_bytes 0, expected at least 1");
  none.attribute.type = ETB_OPTION_TEXT;
  none.attribute.text = "16384";
  const auto text = compile_by(relu_of_rows(1), compile_region, none.request());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().message, "target: attribute 'max_range_bytes': text, expected i64");
}

// The event of a chain is named after its last node.
TEST(GpuChains, TheirEventHasTheHandlesOfAllNodes) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT32, {2, 4});
  const uint32_t gate =
      model.node("aten.sigmoid.default", {value_arg(x, "self")}, {2, 4}, ETB_DTYPE_FLOAT32, 7);
  const auto image = model.finish(model.node(
      "aten.mul.Tensor", {value_arg(x, "self"), value_arg(gate, "other")}, {2, 4}, ETB_DTYPE_FLOAT32, 9));
  const auto artifact = compile(image);
  ASSERT_TRUE(artifact) << artifact.error().message;
  const auto graph = read_payload(artifact->payload);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 2u);
  std::map<std::string, std::vector<uint32_t>> handles;
  for (const auto& row : artifact->debug_map) handles[row.name] = row.handles;
  EXPECT_THAT(handles[event_name(graph->nodes[0])], testing::ElementsAre(7));
  EXPECT_THAT(handles[event_name(graph->nodes[1])], testing::ElementsAre(7, 9));
  EXPECT_THAT(handles[result_name(graph->nodes[0].output)], testing::ElementsAre(7));
}

// A device whose driver is a processor computes attention at once, others node by node.
TEST(GpuAttention, ItsEventHasTheHandlesOfAllNodes) {
  Model model;
  const uint32_t q = model.input(ETB_DTYPE_FLOAT32, {2, 3, 4}), k = model.input(ETB_DTYPE_FLOAT32, {2, 4, 5}),
                 v = model.input(ETB_DTYPE_FLOAT32, {2, 5, 6});
  const auto product = [&](uint32_t a, uint32_t b, const std::vector<int64_t>& sizes, uint32_t handle) {
    return model.node("aten.bmm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, sizes,
                      ETB_DTYPE_FLOAT32, handle);
  };
  const uint32_t scores = product(q, k, {2, 3, 5}, 3);
  const uint32_t weights = model.node(
      "aten._softmax.default",
      {value_arg(scores, "self"), graph::int_arg(-1, "dim"), graph::bool_arg(false, "half_to_float")},
      {2, 3, 5}, ETB_DTYPE_FLOAT32, 5);
  const auto artifact = compile(model.finish(product(weights, v, {2, 3, 6}, 7)));
  ASSERT_TRUE(artifact) << artifact.error().message;
  const auto graph = read_payload(artifact->payload);
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 3u);
  std::map<std::string, std::vector<uint32_t>> handles;
  for (const auto& row : artifact->debug_map) handles[row.name] = row.handles;
  EXPECT_THAT(handles[event_name(graph->nodes[0])], testing::ElementsAre(3));
  EXPECT_THAT(handles[event_name(graph->nodes[1])], testing::ElementsAre(5));
  EXPECT_THAT(handles[event_name(graph->nodes[2])], testing::ElementsAre(3, 5, 7));
}

// where(mask, number, scores) as masked_fill is written, and heads that share keys as repeat_interleave is.
TEST(GpuAttention, PartsOfExportedModelsAreFound) {
  Model model;
  const auto call = [&](const char* name, std::vector<graph::ArgumentDesc> args,
                        const std::vector<int64_t>& sizes) {
    return model.node(name, std::move(args), sizes);
  };
  const auto product = [&](uint32_t a, uint32_t b, const std::vector<int64_t>& sizes) {
    return call("aten.bmm.default", {value_arg(a, "self"), value_arg(b, "mat2")}, sizes);
  };
  const auto view = [&](uint32_t x, const std::vector<int64_t>& sizes) {
    return call("aten.view_copy.default", {value_arg(x, "self"), graph::ints_arg(sizes, "size")}, sizes);
  };
  const auto shared = [&](uint32_t x, int64_t columns) {
    const uint32_t column = view(x, {1, 2, 1, 5, columns});
    const std::vector<int64_t> sizes = {1, 2, 3, 5, columns};
    const uint32_t repeated =
        call("aten.expand_copy.default", {value_arg(column, "self"), graph::ints_arg(sizes, "size")}, sizes);
    return view(view(repeated, {1, 6, 5, columns}), {6, 5, columns});
  };
  const uint32_t q = model.input(ETB_DTYPE_FLOAT32, {6, 3, 4}),
                 k = model.input(ETB_DTYPE_FLOAT32, {1, 2, 5, 4}),
                 v = model.input(ETB_DTYPE_FLOAT32, {1, 2, 5, 8}), mask = model.input(ETB_DTYPE_BOOL, {3, 5});
  const uint32_t number = model.constant<float>(ETB_DTYPE_FLOAT32, {}, {-INFINITY});
  const uint32_t turned = call(
      "aten.permute_copy.default",
      {value_arg(shared(k, 4), "self"), graph::ints_arg(std::vector<int64_t>{0, 2, 1}, "dims")}, {6, 4, 5});
  const uint32_t scores = call("aten.where.self",
                               {value_arg(mask, "condition"), value_arg(number, "self"),
                                value_arg(product(q, turned, {6, 3, 5}), "other")},
                               {6, 3, 5});
  const uint32_t weights =
      call("aten._softmax.default",
           {value_arg(scores, "self"), graph::int_arg(-1, "dim"), graph::bool_arg(false, "half_to_float")},
           {6, 3, 5});
  const GpuGraph graph = compiled(model.finish(product(weights, shared(v, 8), {6, 3, 8})));
  for (const KernelFamily family : {KernelFamily::kTiles, KernelFamily::kVectors}) {
    const auto plan = make_execution_plan(graph, family);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->fusions.attentions.all.size(), 1u);
    const Attention& found = plan->fusions.attentions.all[0];
    EXPECT_EQ(found.nodes.size(), graph.nodes.size());
    EXPECT_THAT(found.operands(), testing::ElementsAreArray(graph.inputs));
    EXPECT_EQ(found.mask_kind, MaskKind::kHidesSet);
    EXPECT_EQ(found.fill, -INFINITY);
  }
}

const std::vector<int8_t> kCodes = {1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, 100};  // [3, 4]
std::vector<graph::ArgumentDesc> channel_args(uint32_t codes, uint32_t scales, uint32_t zeros, int64_t axis) {
  return {value_arg(codes, "input"),    value_arg(scales, "scales"),       value_arg(zeros, "zero_points"),
          graph::int_arg(axis, "axis"), graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max")};
}
constexpr const char* kPerChannel = "quantized_decomposed.dequantize_per_channel.default";
constexpr const char* kPerTensor = "quantized_decomposed.dequantize_per_tensor.default";

// linear(x, dequantised codes), with these zero points.
graph::ImageBytes linear_of_codes(const std::vector<int64_t>& zero_points, bool is_constant = true) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT32, {2, 4});
  const uint32_t codes =
      is_constant ? model.constant(ETB_DTYPE_INT8, {3, 4}, kCodes) : model.input(ETB_DTYPE_INT8, {3, 4});
  const uint32_t scales = model.constant<float>(ETB_DTYPE_FLOAT32, {3}, {0.5f, 0.25f, 2.0f});
  const uint32_t zeros = model.constant(ETB_DTYPE_INT64, {3}, zero_points);
  const uint32_t weight = model.node(kPerChannel, channel_args(codes, scales, zeros, 0), {3, 4});
  return model.finish(
      model.node("aten.linear.default", {value_arg(x, "input"), value_arg(weight, "weight")}, {2, 3}));
}

TEST(GpuCodes, AWeightStaysCodes) {
  const auto image = linear_of_codes({0, 0, 0});
  EXPECT_THAT(claims(image), testing::Each(""));
  const GpuGraph graph = compiled(image);
  ASSERT_EQ(graph.nodes.size(), 1u);
  const GpuValue& weight = weight_of(graph);
  EXPECT_EQ(weight.codes.bits, 8u);
  EXPECT_EQ(weight.codes.axis, 0u);
  EXPECT_EQ(graph.value(weight.codes.scales).role, ValueRole::kConstant);
  EXPECT_EQ(weight.codes.zero_points, kNoValue) << "zero points of 0 are left out";
}

TEST(GpuCodes, ZeroPointsOtherThanZeroAreStored) {
  const GpuGraph graph = compiled(linear_of_codes({0, -3, 5}));
  const GpuValue& weight = weight_of(graph);
  ASSERT_NE(weight.codes.zero_points, kNoValue);
  EXPECT_THAT(graph.value(weight.codes.zero_points).floats, testing::ElementsAre(0, -3, 5));
}

TEST(GpuCodes, ThoseOfRunTimeAreRejected) {
  const auto answers = claims(linear_of_codes({0, 0, 0}, false));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_THAT(answers[0], HasSubstr("quant: input: known only at run time"));
  EXPECT_THAT(answers[1], HasSubstr("weight: known only at run time, expected a constant"));
}

TEST(GpuCodes, OneScaleOfAMatrixProduct) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT32, {2, 3});
  const uint32_t weight = model.node(
      kPerTensor,
      {value_arg(model.constant(ETB_DTYPE_INT8, {3, 4}, kCodes), "input"), graph::float_arg(0.5, "scale"),
       graph::int_arg(7, "zero_point"), graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max")},
      {3, 4});
  const auto image =
      model.finish(model.node("aten.mm.default", {value_arg(x, "self"), value_arg(weight, "mat2")}, {2, 4}));
  EXPECT_THAT(claims(image), testing::Each(""));
  const GpuGraph graph = compiled(image);
  const Codes& codes = weight_of(graph).codes;
  EXPECT_THAT(graph.value(codes.scales).floats, testing::ElementsAre(0.5f));
  EXPECT_THAT(graph.value(codes.zero_points).floats, testing::ElementsAre(7));
  const auto plan = make_execution_plan(graph);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->dispatches[0].kernel, Kernel::kMatmul8Narrow);
}

struct AffineCase {
  std::vector<int64_t> block, scales;
  int64_t low, high;
  bool has_large_code;
};

// Weight-only quantisation of torchao: a linear layer [3, 8].
graph::ImageBytes linear_of_blocks(const AffineCase& from) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT32, {2, 8});
  std::vector<int8_t> codes(24);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(static_cast<int>(i % 16) - 8);
  if (from.has_large_code) codes[20] = 8;
  size_t count = 1;
  for (const int64_t size : from.scales) count *= static_cast<size_t>(size);
  const uint32_t input = model.constant(ETB_DTYPE_INT8, {3, 8}, codes),
                 scales = model.constant(ETB_DTYPE_FLOAT32, from.scales, std::vector<float>(count, 0.5f)),
                 zeros = model.constant(ETB_DTYPE_INT8, from.scales, std::vector<int8_t>(count, 0));
  const uint32_t weight =
      model.node("torchao.dequantize_affine.default",
                 {value_arg(input, "input"), graph::ints_arg(from.block, "block_size"),
                  value_arg(scales, "scale"), value_arg(zeros, "zero_point"),
                  graph::int_arg(from.low, "quant_min"), graph::int_arg(from.high, "quant_max")},
                 {3, 8});
  return model.finish(
      model.node("aten.linear.default", {value_arg(x, "input"), value_arg(weight, "weight")}, {2, 3}));
}

TEST(GpuCodes, BlocksAreGroupsOfARowAnAxisOrAll) {
  struct Expected {
    AffineCase from;
    uint32_t bits, group;
  };
  const Expected all[] = {{{{1, 4}, {3, 2}, -8, 7, false}, 4, 4},     {{{1, 4}, {3, 2}, -8, 7, true}, 8, 4},
                          {{{1, 4}, {3, 2}, -128, 127, false}, 8, 4}, {{{1, 8}, {3, 1}, -8, 7, false}, 4, 0},
                          {{{1, 1}, {3, 8}, -8, 7, false}, 4, 1},     {{{3, 8}, {1}, -8, 7, false}, 4, 0}};
  for (const Expected& each : all) {
    SCOPED_TRACE(std::to_string(&each - all));
    const auto image = linear_of_blocks(each.from);
    EXPECT_THAT(claims(image), testing::Each(""));
    const GpuGraph graph = compiled(image);
    const Codes& codes = weight_of(graph).codes;
    EXPECT_EQ(codes.bits, each.bits);
    EXPECT_EQ(codes.group, each.group);
    EXPECT_EQ(codes.zero_points, kNoValue);
    const auto plan = make_execution_plan(graph);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->dispatches[0].kernel,
              each.bits == 4 ? Kernel::kMatmul4NarrowEdge : Kernel::kMatmul8NarrowEdge);
  }
}

TEST(GpuCodes, OtherBlocksAreRejected) {
  for (const auto& [block, reason] :
       {std::pair{std::vector<int64_t>{3, 4}, "block_size, expected parts of single rows"},
        {{1, 3}, "groups of 3, expected a divisor"},
        {{8}, "block_size, expected a number for each dimension"},
        {{1, 2}, "scale: 6 numbers, expected 12"}}) {
    const auto answers = claims(linear_of_blocks({block, {3, 2}, -8, 7, false}));
    EXPECT_THAT(answers[0], HasSubstr(reason));
    EXPECT_THAT(answers[1], HasSubstr("expected a constant"));
  }
}

// The compiler may leave a dequantisation without its readers in a region.
TEST(GpuCodes, ADequantisationAloneIsACopy) {
  Model model;
  const uint32_t scales = model.constant<float>(ETB_DTYPE_FLOAT32, {4}, {1, 2, 3, 4});
  const uint32_t zeros = model.constant<int64_t>(ETB_DTYPE_INT64, {4}, {0, 0, 0, 0});
  const auto image = model.finish(model.node(
      kPerChannel, channel_args(model.constant(ETB_DTYPE_INT8, {3, 4}, kCodes), scales, zeros, -1), {3, 4}));
  EXPECT_THAT(claims(image), testing::Each(""));
  const GpuGraph graph = compiled(image);
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, Operator::kReshape);
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[0]).codes.axis, 1u);
}

// y = x + w in float16, then a conversion to float32.
TEST(GpuHalves, AreFloatsInsideOfARegion) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT16, {4});
  const uint32_t w = model.constant<uint16_t>(ETB_DTYPE_FLOAT16, {4}, {0x3c00, 0x4000, 0, 0x8000});
  const uint32_t sum =
      model.node("aten.add.Tensor", {value_arg(x, "self"), value_arg(w, "other")}, {4}, ETB_DTYPE_FLOAT16);
  const auto image =
      model.finish(model.node("dim_order_ops._to_dim_order_copy.default", {value_arg(sum, "self")}, {4}));
  EXPECT_THAT(claims(image), testing::Each(""));
  const GpuGraph graph = compiled(image);
  EXPECT_EQ(graph.value(graph.inputs[0]).host, HostNumbers::kHalves);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).host, HostNumbers::kHalves);
  EXPECT_EQ(graph.value(graph.nodes[0].output).host, HostNumbers::kHalves);
  EXPECT_EQ(graph.nodes[1].ints[field::kFunction], static_cast<int32_t>(UnaryFunction::kRoundHalf));
  EXPECT_EQ(graph.value(graph.outputs[0]).host, HostNumbers::kSame);
  for (const GpuValue& value : graph.values) EXPECT_EQ(value.type, DataType::kFloat32);
}

// An input has no more digits than float16: only the host's conversion is left.
TEST(GpuHalves, AConversionOfAnInputIsACopy) {
  Model model;
  const uint32_t x = model.input(ETB_DTYPE_FLOAT16, {4});
  const GpuGraph graph = compiled(
      model.finish(model.node("dim_order_ops._to_dim_order_copy.default", {value_arg(x, "self")}, {4})));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, Operator::kReshape);
  EXPECT_EQ(graph.value(graph.inputs[0]).host, HostNumbers::kHalves);
  EXPECT_EQ(graph.value(graph.outputs[0]).host, HostNumbers::kSame);
}

// 1,280 rows of 128 KiB: 1,024 of them fit into the range that every device has. The embedding and the product read the same pieces.
TEST(GpuLargeConstants, ATableAboveTheRangeOfABufferIsInPieces) {
  constexpr int64_t kRows = 1280, kColumns = int64_t{1} << 15;
  Model model;
  const uint32_t index = model.input(ETB_DTYPE_INT64, {3}), bias = model.input(ETB_DTYPE_FLOAT32, {kRows});
  std::vector<float> numbers(kRows * kColumns);
  for (size_t i = 0; i < numbers.size(); i += 1024) numbers[i] = static_cast<float>(i);
  const uint32_t table = model.constant(ETB_DTYPE_FLOAT32, {kRows, kColumns}, numbers);
  const uint32_t rows = model.node("aten.embedding.default",
                                   {value_arg(table, "weight"), value_arg(index, "indices")}, {3, kColumns});
  const auto image = model.finish(model.node(
      "aten.linear.default", {value_arg(rows, "input"), value_arg(table, "weight"), value_arg(bias, "bias")},
      {3, kRows}));
  EXPECT_THAT(claims(image), testing::Each(""));
  const auto artifact = compile(image);
  ASSERT_TRUE(artifact) << artifact.error().message;
  ASSERT_EQ(artifact->named_blobs.size(), 2u);
  std::map<size_t, const std::byte*> blobs;
  for (const auto& blob : artifact->named_blobs) blobs[blob.value.size()] = blob.value.data();
  const auto* const all = reinterpret_cast<const std::byte*>(numbers.data());
  constexpr size_t kFirst = 1024 * kColumns * sizeof(float), kSecond = 256 * kColumns * sizeof(float);
  ASSERT_TRUE(blobs.count(kFirst) == 1 && blobs.count(kSecond) == 1);
  EXPECT_EQ(std::memcmp(blobs[kFirst], all, kFirst), 0);
  EXPECT_EQ(std::memcmp(blobs[kSecond], all + kFirst, kSecond), 0);
  const auto graph = read_payload(artifact->payload);
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<int32_t> first_rows;
  for (const GpuNode& node : graph->nodes)
    if (node.op == Operator::kEmbedding) first_rows.push_back(node.ints.at(field::kFirstRow));
  EXPECT_THAT(first_rows, testing::ElementsAre(0, 1024));
  EXPECT_EQ(graph->nodes.back().op, Operator::kCat);
  EXPECT_EQ(graph->nodes.back().inputs.size(), 2u);
}

}  // namespace
}  // namespace etb::gpu
