// SPDX-License-Identifier: Apache-2.0
// Tests invalid payloads, one kind of defect a test. Each is rejected with the name of the node or value.
// payload_fuzz.cpp searches for other defects; xnnpack_test.cpp truncates official payloads and flips their
// bits.
#include "etb_schema/xnnpack_graph_generated.h"
#include "plugins/xnnpack/payload/writer.hpp"
#include "plugins/xnnpack/testing/compile_fixture.hpp"
#include "plugins/xnnpack/testing/payload_fixture.hpp"

namespace etb::xnnpack {
namespace {

// abs(input 0 [2, 4] times filter 1 [3, 4]) = 3, with value 2 between.
XnnPayload honest() {
  XnnPayload payload;
  payload.constants.emplace_back();
  payload.constants.push_back({"weights", {}});
  payload.values = {value_of(0, {2, 4}), value_of(1, {3, 4}), value_of(2, {2, 3}), value_of(3, {2, 3})};
  payload.values[0].external_id = 0;
  payload.values[0].is_input = true;
  payload.values[1].constant_index = 1;
  payload.values[3].external_id = 1;
  payload.values[3].is_output = true;
  payload.nodes = {node_of(XnnOperator::kFullyConnected, {0, 1, kXnnNoValue}, 2),
                   node_of(XnnOperator::kAbs, {2}, 3)};
  payload.input_ids = {0};
  payload.output_ids = {3};
  return payload;
}

class XnnpackHostile : public XnnpackCompile {
 protected:
  // Returns "" if a delegate was created, else the error.
  std::string create(std::span<const std::byte> bytes) {
    const etb_named_data named = {ETB_INIT_SIZE(etb_named_data), 0, nullptr,
                                  [](void*, const char*, etb_payload_view* out, etb_error*) -> etb_status {
                                    alignas(16) static const std::byte kWeights[3 * 4 * sizeof(float)] = {};
                                    point_at(*out, kWeights);
                                    return ETB_OK;
                                  }};
    const PayloadArguments given(bytes, &named);
    etb_delegate* delegate = nullptr;
    error_ = ETB_ERROR_INIT;
    if (table_->delegate->create(plugin_, &given.args, &delegate, &error_) != ETB_OK) return error_.text;
    EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
    return "";
  }
  std::string create(const XnnPayload& payload) { return create(write_xnnpack_payload(payload)); }
};

TEST_F(XnnpackHostile, TheHonestOneIsTaken) { EXPECT_EQ(create(honest()), ""); }

// The official exporter counts sizes among the arguments, and leaves their external ids out.
TEST_F(XnnpackHostile, ArgumentsThatNoValueStandsForAreIgnored) {
  XnnPayload payload = honest();
  payload.values[3].external_id = 3;
  payload.ignored_input_count = 2;
  EXPECT_EQ(create(payload), "");
  payload.values[0].external_id = 2;
  EXPECT_EQ(create(payload), "");
  payload.values[0].external_id = 3;  // the output's
  EXPECT_THAT(create(payload), HasSubstr("input 0: external id 3 out of place"));
  payload.values[0].external_id = 0;
  payload.values[3].external_id = 2;  // an input's
  EXPECT_THAT(create(payload), HasSubstr("output 0: external id 2 out of place"));
}

TEST_F(XnnpackHostile, TruncatedPayloadsSayWhatIsMissing) {
  const auto bytes = write_xnnpack_payload(honest());
  EXPECT_THAT(create(std::span(bytes).first(bytes.size() / 2)), HasSubstr("payload header: graph at"));
  EXPECT_THAT(create(std::span(bytes).first(20)), HasSubstr("identifier"));
}

TEST_F(XnnpackHostile, DanglingIdsAreNamedWithTheirNode) {
  XnnPayload payload = honest();
  payload.nodes[1].inputs[0] = 77;
  EXPECT_THAT(create(payload), HasSubstr("node 1 (Abs): input 0: no value 77"));
  payload = honest();
  payload.nodes[0].outputs[0] = 77;
  EXPECT_THAT(create(payload), HasSubstr("node 0 (FullyConnected): output 0: no value 77"));
  payload = honest();
  payload.values[1].constant_index = 9;
  EXPECT_THAT(create(payload), HasSubstr("value 1: constant 9, expected less than 2"));
  payload = honest();
  payload.values[2].id = 3;
  EXPECT_THAT(create(payload), HasSubstr("value 3: id 3 stands twice"));
}

TEST_F(XnnpackHostile, CyclesAreNamedWithTheirNode) {
  XnnPayload payload = honest();
  payload.nodes[0].inputs[0] = 2;  // its own result
  EXPECT_THAT(create(payload),
              HasSubstr("node 0 (FullyConnected): input 0: value 2 is read before it is made"));
  payload = honest();
  std::swap(payload.nodes[0], payload.nodes[1]);
  EXPECT_THAT(create(payload), HasSubstr("node 0 (Abs): input 0: value 2 is read before it is made"));
  payload = honest();
  payload.nodes[1].outputs[0] = 2;
  EXPECT_THAT(create(payload), HasSubstr("node 1 (Abs): output 0: value 2 is made twice"));
}

TEST_F(XnnpackHostile, SizesBeyondTheConstantAreNamedWithTheirValue) {
  XnnPayload payload = honest();
  payload.values[1].sizes = {1u << 20, 4};
  payload.values[2].sizes = payload.values[3].sizes = {2, 1u << 20};
  EXPECT_THAT(create(payload), HasSubstr("value 1"));
  payload = honest();
  payload.values[1].sizes = {3, 5};
  EXPECT_THAT(
      create(payload),
      HasSubstr("node 0 (FullyConnected): input of sizes [2, 4], expected 5 elements in the last dimension"));
}

TEST_F(XnnpackHostile, SizesThatOverflowAreNamedWithTheirValue) {
  for (const uint32_t position : {0u, 1u, 2u, 3u}) {
    XnnPayload payload = honest();
    payload.values[position].sizes.assign(4, 0xffffffffu);
    EXPECT_THAT(create(payload), HasSubstr("value " + std::to_string(position) + ": sizes overflow"));
  }
  XnnPayload payload = honest();
  payload.values[2].sizes.assign(7, 1);
  EXPECT_THAT(create(payload), HasSubstr("value 2: rank 7 with 7 sizes, expected at most 6"));
}

TEST_F(XnnpackHostile, WrongQuantisationIsNamedWithItsValue) {
  const auto with = [](float scale, int32_t zero_point) {
    XnnPayload payload = honest();
    XnnValue& value = payload.values[2];
    value.datatype = XnnDatatype::kQint8;
    value.quantisation = XnnQuantisation::kPerTensor;
    value.scale = scale;
    value.zero_point = zero_point;
    return payload;
  };
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY, 1e-42f})
    EXPECT_THAT(create(with(scale, 0)), HasSubstr("value 2: scale")) << scale;
  for (const int32_t zero_point : {-129, 128, 1 << 30})
    EXPECT_THAT(create(with(0.5f, zero_point)),
                HasSubstr("value 2: zero point " + std::to_string(zero_point)));

  XnnPayload payload = honest();
  XnnValue& filter = payload.values[1];
  filter.datatype = XnnDatatype::kQcint8;
  filter.quantisation = XnnQuantisation::kPerChannel;
  filter.scales = {1, 2};
  EXPECT_THAT(create(payload), HasSubstr("value 1: 2 scales, expected 3"));
  filter.scales = {1, NAN, 2};
  EXPECT_THAT(create(payload), HasSubstr("value 1: scale nan"));
  filter.channel_dim = 2;
  EXPECT_THAT(create(payload), HasSubstr("value 1: channel dimension 2, rank 2"));
  filter.channel_dim = 1;
  filter.scales = {1, 2, 3, 4};
  EXPECT_THAT(create(payload),
              HasSubstr("node 0 (FullyConnected): weights quantised along dimension 1, expected 0"));
}

// Simulates a later exporter with more kinds of nodes.
TEST_F(XnnpackHostile, NodesOfLaterReleasesAreRefusedByThePayloadCheck) {
  XnnPayload payload = honest();
  payload.nodes[1].op = XnnOperator::kCos;  // the last kind in the schema
  auto bytes = write_xnnpack_payload(payload);
  const auto check = [&] {
    etb_payload_check asked{};
    asked.struct_size = ETB_INIT_SIZE(etb_payload_check);
    asked.backend_id = "XnnpackBackend";
    asked.prefix = {bytes.data(), std::min<size_t>(bytes.size(), 4096)};
    asked.payload_nbytes = bytes.size();
    etb_verdict verdict{};
    verdict.struct_size = ETB_INIT_SIZE(etb_verdict);
    EXPECT_EQ(table_->delegate->check_payload(plugin_, &asked, &verdict, &error_), ETB_OK) << error_.text;
    return verdict;
  };
  EXPECT_NE(check().kind, ETB_VERDICT_UNSUPPORTED);
  size_t found_count = 0;
  for (std::byte& byte : bytes) {  // one of the bytes is the node's kind
    if (byte != std::byte{kXnnOperatorCount}) continue;
    byte = std::byte{kXnnOperatorCount + 1};
    const std::string expected = "node 1 (?): operator number 48, this reader knows 1 to 47";
    if (create(bytes).find(expected) != std::string::npos) {
      ++found_count;
      const etb_verdict verdict = check();
      EXPECT_EQ(verdict.kind, ETB_VERDICT_UNSUPPORTED);
      EXPECT_THAT(verdict.text, HasSubstr(expected));
    }
    byte = std::byte{kXnnOperatorCount};
  }
  EXPECT_EQ(found_count, 1u);
}

TEST_F(XnnpackHostile, RowsPackedForAnotherProcessorAreNamedWithTheirValue) {
  XnnPayload payload = honest();
  payload.values[2].datatype = XnnDatatype::kQpint8;
  payload.values[2].quantisation = XnnQuantisation::kPerToken;
  payload.values[2].nonbatch_dim_count = 1;
  EXPECT_THAT(create(payload),
              HasSubstr("value 2: datatype qpint8, which is packed for one kind of processor"));
}

TEST_F(XnnpackHostile, WrongArgumentsAreNamedWithTheirNode) {
  XnnPayload payload = honest();
  payload.nodes[1].is_clamped = true;
  payload.nodes[1].clamp_min = 2;
  payload.nodes[1].clamp_max = 1;
  EXPECT_THAT(create(payload), HasSubstr("node 1 (Abs): clamp from"));
  payload = honest();
  payload.nodes[1].op = XnnOperator::kStaticTranspose;
  payload.nodes[1].first = {0, 0};
  EXPECT_THAT(create(payload), HasSubstr("node 1 (StaticTranspose): permutation names dimension 0"));
}

// A graph may repeat one reference at four bytes each.
TEST_F(XnnpackHostile, ManyValuesOfTheSameScalesAreNotCopiedForEach) {
  namespace fb = xnnpack_schema;
  flatbuffers::FlatBufferBuilder builder;
  constexpr uint32_t kChannels = 10000;
  const auto sizes = builder.CreateVector(std::vector<uint32_t>{kChannels, 1});
  const auto scales = builder.CreateVector(std::vector<float>(kChannels, 1));
  const auto quantisation = fb::CreatePerChannel(builder, scales, 0);
  std::vector<flatbuffers::Offset<fb::ValueHolder>> values;
  for (uint32_t id = 0; id < 100; ++id) {
    const auto dense = fb::CreateDenseValue(builder, static_cast<int16_t>(XnnDatatype::kQcint8), 2, sizes, 1,
                                            kXnnNoValue, 0, id);
    const auto value =
        fb::CreateQuantisedValue(builder, dense, fb::Quantisation::PerChannel, quantisation.Union());
    values.push_back(fb::CreateValueHolder(builder, fb::Value::QuantisedValue, value.Union()));
  }
  const std::vector<flatbuffers::Offset<fb::ConstantRange>> constants(
      2, fb::CreateConstantRangeDirect(builder, 0, 0, "weights"));
  builder.Finish(fb::CreateGraphDirect(builder, "0", nullptr, &values, 0, nullptr, nullptr, nullptr, nullptr,
                                       &constants),
                 fb::GraphIdentifier());
  const auto written = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  EXPECT_THAT(create(std::vector<std::byte>(written.begin(), written.end())),
              HasSubstr("scales and keys of"));
}

TEST_F(XnnpackHostile, GroupsWithTooFewScalesOfEitherKindAreRefused) {
  XnnPayload payload = honest();
  XnnValue& filter = payload.values[1];
  filter.datatype = XnnDatatype::kQbint4;
  filter.quantisation = XnnQuantisation::kPerChannelGroup;
  filter.group_size = 4;
  filter.scales_bf16 = {0x3f80};  // the scales that XNNPACK would read
  filter.scales = {1, 1, 1};
  EXPECT_THAT(create(payload), HasSubstr("value 1: 1 scales, expected 3"));
}

// Returns one node on an input of these sizes. Unset fields have the values that make the node valid.
XnnPayload one_node(XnnOperator op, std::vector<uint32_t> sizes) {
  XnnPayload payload = honest();
  payload.values = {value_of(0, sizes), value_of(1, sizes)};
  payload.values[0].external_id = 0;
  payload.values[0].is_input = true;
  payload.values[1].external_id = 1;
  payload.values[1].is_output = true;
  payload.nodes = {node_of(op, {0}, 1)};
  XnnNode& node = payload.nodes[0];
  node.window.kernel_height = node.window.kernel_width = 2;
  node.first = node.second = std::vector<uint32_t>(sizes.size(), 1);
  payload.output_ids = {1};
  return payload;
}

TEST_F(XnnpackHostile, ShapesThatOverflowAreNamedWithTheirNode) {
  EXPECT_EQ(create(one_node(XnnOperator::kConstantPad, {1, 4, 4, 2})), "");
  XnnPayload payload = one_node(XnnOperator::kConstantPad, {1, 4, 4, 2});
  payload.nodes[0].first[0] = 0x7fffffff;
  payload.nodes[0].second[0] = 0x80000000;  // sums to 0 in 32 bits
  EXPECT_THAT(create(payload), HasSubstr("node 0 (ConstantPad): output of sizes [4294967296, "));
  payload.nodes[0].first[0] = payload.nodes[0].second[0] = 1 << 29;
  EXPECT_THAT(create(payload), HasSubstr("expected at most 4294967296 bytes"));

  payload = one_node(XnnOperator::kStaticReshape, {1, 4, 4, 2});
  payload.nodes[0].first = {0xffffffff, 0xffffffff};
  EXPECT_THAT(create(payload), HasSubstr("node 0 (StaticReshape): input of sizes [1, 4, 4, 2] as"));
  payload = one_node(XnnOperator::kStaticSlice, {1, 4, 4, 2});
  payload.nodes[0].first = {0, 0, 0xffffffff, 0};  // adds one pixel more
  EXPECT_THAT(create(payload), HasSubstr("node 0 (StaticSlice): dimension 2: 1 at 4294967295 of 4"));
  payload = one_node(XnnOperator::kStaticSlice, {1, 4, 4, 2});
  payload.nodes[0].first = payload.nodes[0].second = {0, 0, 3, 0};
  payload.nodes[0].second[2] = 0;
  EXPECT_THAT(create(payload), HasSubstr("node 0 (StaticSlice): dimension 2: 0 at 3 of 4"));
  payload = one_node(XnnOperator::kResizeBilinear2d, {1, 4, 4, 2});
  payload.nodes[0].first = {1 << 24, 1 << 24};
  EXPECT_THAT(create(payload), HasSubstr("node 0 (ResizeBilinear2d): output of sizes"));
}

TEST_F(XnnpackHostile, WindowsThatDoNotFitAreNamedWithTheirNode) {
  EXPECT_EQ(create(one_node(XnnOperator::kMaxPooling2d, {1, 8, 8, 2})), "");
  const auto with = [](auto change) {
    XnnPayload payload = one_node(XnnOperator::kMaxPooling2d, {1, 8, 8, 2});
    change(payload.nodes[0].window);
    return payload;
  };
  constexpr const char* kWhere = "node 0 (MaxPooling2d): a window that reaches over";
  // Overflows to the sizes of the input in 32 bits.
  EXPECT_THAT(create(with([](auto& w) { w.padding_top = w.padding_bottom = 0x80000000; })),
              HasSubstr(kWhere));
  EXPECT_THAT(create(with([](auto& w) { w.kernel_height = 9; })), HasSubstr(kWhere));
  EXPECT_THAT(create(with([](auto& w) { w.dilation_width = 0xffffffff; })), HasSubstr(kWhere));
  EXPECT_THAT(create(with([](auto& w) { w.stride_width = 0xffffffff; })), HasSubstr(kWhere));
  EXPECT_THAT(
      create(with([](auto& w) { w.padding_top = 2; })),
      HasSubstr("node 0 (MaxPooling2d): windows over 2 pixels, some in padding alone: 2 and 0 around 8"));
  EXPECT_THAT(
      create(with([](auto& w) {
        w.dilation_height = 8;  // XNNPACK would read a row after the last
        w.padding_top = w.padding_bottom = 8;
      })),
      HasSubstr("node 0 (MaxPooling2d): windows over 9 pixels, some in padding alone: 8 and 8 around 8"));
  // Would need an indirection table of a gigabyte for eight pixels.
  EXPECT_THAT(create(with([](auto& w) {
                w.kernel_height = w.kernel_width = 8192;
                w.padding_top = w.padding_left = 8184;
              })),
              HasSubstr("node 0 (MaxPooling2d): a table of 536870912 bytes"));
}

// XNNPACK itself would run some of these and write elements of the input's size.
TEST_F(XnnpackHostile, OnlyAConversionMayHaveAnOutputOfOtherElements) {
  for (const XnnOperator op :
       {XnnOperator::kSoftmax, XnnOperator::kSigmoid, XnnOperator::kAveragePooling2d,
        XnnOperator::kMaxPooling2d, XnnOperator::kGlobalAveragePooling2d, XnnOperator::kResizeBilinear2d,
        XnnOperator::kConstantPad, XnnOperator::kCopy}) {
    XnnPayload payload = one_node(op, {1, 4, 4, 2});
    EXPECT_EQ(create(payload), "");
    payload.values[1].datatype = XnnDatatype::kFloat16;
    EXPECT_THAT(create(payload),
                HasSubstr(std::string("node 0 (") + to_text(op) +
                          "): inputs of datatype float32, outputs float16: no kernel is for these"));
  }
  XnnPayload payload = one_node(XnnOperator::kConvert, {1, 4, 4, 2});
  payload.values[1].datatype = XnnDatatype::kFloat16;
  EXPECT_EQ(create(payload), "");
}

TEST_F(XnnpackHostile, WeightsAreOfDatatypesThatGoTogether) {
  XnnPayload payload = honest();
  payload.values[1].datatype = XnnDatatype::kFloat16;
  EXPECT_THAT(
      create(payload),
      HasSubstr("node 0 (FullyConnected): inputs of datatype float32, float16, none, outputs float32"));
  payload = honest();
  payload.values[1].datatype = XnnDatatype::kQcint8;
  EXPECT_THAT(create(payload),
              HasSubstr("value 1: datatype qcint8 not quantised, expected it quantised by channel"));
  payload = honest();
  payload.values[1].sizes = {3, 0};
  EXPECT_THAT(create(payload), HasSubstr("value 1: constant without elements"));
  payload = honest();
  payload.values[1].datatype = XnnDatatype::kPfloat32;
  EXPECT_THAT(create(payload), HasSubstr("value 1: datatype pfloat32"));
}

// XNNPACK reads one scale for each channel of each matrix.
TEST_F(XnnpackHostile, MatricesQuantisedByChannelHaveTheScalesThatAreRead) {
  XnnPayload payload = one_node(XnnOperator::kConvert, {3, 5});
  payload.constants.push_back({"weights", {}});
  payload.values[1] = value_of(1, {3, 5});
  payload.values[1].datatype = XnnDatatype::kQdint8;
  payload.values[1].quantisation = XnnQuantisation::kPerToken;
  payload.values[1].nonbatch_dim_count = 1;
  payload.values.push_back(value_of(2, {1, 5, 2}));
  XnnValue& factor = payload.values[2];
  factor.datatype = XnnDatatype::kQcint8;
  factor.quantisation = XnnQuantisation::kPerChannel;
  factor.constant_index = 1;
  factor.channel_dim = 2;
  factor.scales = {1, 1};
  payload.values.push_back(value_of(3, {1, 3, 2}));
  payload.values[3].external_id = 1;
  payload.values[3].is_output = true;
  payload.nodes.push_back(node_of(XnnOperator::kBatchMatrixMultiply, {1, 2}, 3));
  payload.output_ids = {3};
  EXPECT_EQ(create(payload), "");
  factor.channel_dim = 0;
  factor.scales = {1};
  EXPECT_THAT(create(payload),
              HasSubstr("node 1 (BatchMatrixMultiply): weights quantised along dimension 0, expected 2"));
  factor.sizes[0] = 2;
  factor.channel_dim = 2;
  factor.scales = {1, 1};
  EXPECT_THAT(create(payload),
              HasSubstr("node 1 (BatchMatrixMultiply): several matrices quantised by channel"));
}

// One flag bit makes XNNPACK read 16-bit weights as 32-bit ones.
TEST_F(XnnpackHostile, FlagsThatNoFileNeedsAreNamedWithTheirNode) {
  XnnPayload payload = honest();
  payload.nodes[0].flags = 8;
  EXPECT_THAT(create(payload), HasSubstr("node 0 (FullyConnected): flags 8, expected bits of 5"));
  payload = one_node(XnnOperator::kMaxPooling2d, {1, 8, 8, 2});
  payload.nodes[0].flags = 4;  // XNNPACK computes the padding in unsigned numbers, which may underflow
  EXPECT_THAT(create(payload), HasSubstr("node 0 (MaxPooling2d): flags 4, expected bits of 64"));
}

TEST_F(XnnpackHostile, NodesThatMakeSomethingOfNothingAreNamed) {
  XnnPayload payload = one_node(XnnOperator::kFullyConnected, {0, 0});
  payload.nodes[0] = node_of(XnnOperator::kFullyConnected, {0, 0, kXnnNoValue}, 1);  // division by 0
  EXPECT_THAT(create(payload), HasSubstr("node 0 (FullyConnected): filter of sizes [0, 0]"));
  EXPECT_THAT(
      create(one_node(XnnOperator::kConstantPad, {1, 0, 4, 2})),
      HasSubstr("node 0 (ConstantPad): input of sizes [1, 0, 4, 2] for an output of sizes [3, 2, 6, 4]"));
  // Empty batches of images, alone and beside another value.
  payload = one_node(XnnOperator::kMaxPooling2d, {0, 4, 4, 2});
  EXPECT_EQ(create(payload), "");
  payload.values.push_back(value_of(2, {1}));
  payload.values[2].external_id = 1;
  payload.values[2].is_input = true;
  payload.values.push_back(value_of(3, {1}));
  payload.values[1].external_id = 2;
  payload.values[3].external_id = 3;
  payload.values[3].is_output = true;
  payload.nodes.push_back(node_of(XnnOperator::kAbs, {2}, 3));
  payload.input_ids = {0, 2};
  payload.output_ids = {1, 3};
  EXPECT_THAT(
      create(payload),
      HasSubstr(
          "node 0 (MaxPooling2d): output of sizes [0, 3, 3, 2] in a graph with outputs that have elements"));
}

TEST_F(XnnpackHostile, InputsThatDoNotFitTogetherAreNamedWithTheirNode) {
  XnnPayload payload = honest();
  payload.nodes[1] = node_of(XnnOperator::kAdd, {2, 0}, 3);  // [2, 3] and [2, 4]
  EXPECT_THAT(create(payload), HasSubstr("node 1 (Add): inputs of sizes [2, 3] and [2, 4]"));
  payload.nodes[1] = node_of(XnnOperator::kBatchMatrixMultiply, {2, 0}, 3);
  EXPECT_THAT(create(payload), HasSubstr("node 1 (BatchMatrixMultiply): factors of sizes [2, 3] and [2, 4]"));
  payload.nodes[1] = node_of(XnnOperator::kConcatenate2, {2, 0}, 3);
  EXPECT_THAT(create(payload), HasSubstr("node 1 (Concatenate2): inputs of sizes [2, 3] and [2, 4] along 0"));
  payload.nodes[1].axis = -3;
  EXPECT_THAT(create(payload), HasSubstr("node 1 (Concatenate2): dimension -3 of 2"));
}

}  // namespace
}  // namespace etb::xnnpack
