// SPDX-License-Identifier: Apache-2.0
// The compiler and the driver: tiles, estimates, versions, claims, damaged payloads.
#include <cmath>

#include "plugins/dsp_stub/testing/dsp_models.hpp"

namespace etb::dsp_stub {
namespace {

using testing::HasSubstr;

TEST_F(DspStub, AWholeNetIsClaimedAndDependsOnItsInput) {
  const ImageBytes image = small_net(2, 9, 12).image();
  for (const auto& [node, answer] : claims(image)) EXPECT_EQ(answer, "") << "node " << node;
  std::vector<std::byte> payload;
  ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
  EXPECT_EQ(run(payload, 1).size(), 10u);
  EXPECT_NE(run(payload, 1), run(payload, 2));
}

// Smaller memories mean more and smaller tiles, and more traffic, but the same codes.
TEST_F(DspStub, ReportsTheMemoryOfADelegate) {
  struct FactHost {
    std::vector<std::string> facts;
    etb_diag_service service = {ETB_INIT_SIZE(etb_diag_service), 0, &facts,
                                [](void* ctx, const char* topic, const etb_option* fields, uint64_t count) {
                                  std::string text = topic;
                                  for (uint64_t i = 0; i < count; ++i)
                                    text += std::string(" ") + fields[i].key + "=" +
                                            std::to_string(fields[i].i64);
                                  static_cast<std::vector<std::string>*>(ctx)->push_back(text);
                                }};
  } facts;
  etb_host host{};
  host.struct_size = ETB_INIT_SIZE(etb_host);
  host.abi_version = ETB_ABI_VERSION;
  host.ctx = &facts;
  host.get_service = [](const etb_host* self, const char* id) -> const void* {
    return std::string_view(id) == ETB_SERVICE_DIAG ? &static_cast<FactHost*>(self->ctx)->service : nullptr;
  };
  std::vector<std::byte> payload;
  ASSERT_EQ(compile(small_net(2, 9, 12).image(), payload), ETB_OK) << error_.text;
  etb_plugin* const other = std::exchange(plugin_, nullptr);
  ASSERT_EQ(table_->init(&host, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
  etb_delegate* delegate = nullptr;
  EXPECT_EQ(create(payload, &delegate), ETB_OK) << error_.text;
  const PayloadView known = read_payload(payload).value();
  EXPECT_THAT(facts.facts,
              testing::ElementsAre("dsp_stub.delegate layers=" + std::to_string(known.layout.layer_count) +
                                   " tcm_bytes=" + std::to_string(known.layout.tcm_bytes) +
                                   " arena_bytes=" + std::to_string(known.layout.arena_bytes)));
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
  EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK);
  plugin_ = other;
}

TEST_F(DspStub, TilesDoNotChangeResults) {
  const ImageBytes image = small_net(2, 24, 12).image();
  std::vector<int8_t> expected;
  std::vector<uint64_t> moved;
  for (const int64_t tcm_kib : {256, 32, 16, 12, 9, 6}) {
    options_ = {number("tcm_kib", tcm_kib)};
    for (const auto& [node, answer] : claims(image))
      ASSERT_EQ(answer, "") << "node " << node << " in " << tcm_kib;
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
    const auto known = read_payload(payload);
    ASSERT_TRUE(known) << known.error().message;
    EXPECT_LE(known->layout.tcm_bytes, tcm_kib * 1024);
    const std::vector<int8_t> found = run(payload);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << tcm_kib;
    moved.push_back(estimate(image).moved_bytes);
  }
  EXPECT_GT(moved.back(), moved.front());
}

// [3, 32, 32] -> 16 channels -> 32 channels, stride 2 -> mean -> linear.
CodesModel convolutional_net() {
  CodesModel model;
  const Sizes sizes = {1, 3, 32, 32}, first_sizes = {1, 16, 32, 32}, second_sizes = {1, 32, 16, 16};
  uint32_t y = model.input(sizes);
  const auto weights = [&](const Sizes& of, uint32_t seed) {
    return model.constant(ETB_DTYPE_INT8, of,
                          codes_of(static_cast<size_t>(of[0] * of[1] * (of.size() == 4 ? 9 : 1)), seed));
  };
  const uint32_t first = weights({16, 3, 3, 3}, 4), second = weights({32, 16, 3, 3}, 5),
                 last = weights({10, 32}, 6);
  const auto convolve = [&](uint32_t real, uint32_t weight, const Sizes& weight_sizes, const Sizes& out,
                            int64_t stride) {
    const uint32_t sums =
        model.node("aten.convolution.default",
                   {arg(real, "input"), arg(model.dequantize(weight, weight_sizes, 0x1p-8, 0), "weight"),
                    graph::none_arg("bias"), graph::ints_arg({stride, stride}, "stride"),
                    graph::ints_arg({1, 1}, "padding"), graph::ints_arg({1, 1}, "dilation"),
                    graph::bool_arg(false, "transposed"), graph::ints_arg({0, 0}, "output_padding"),
                    graph::int_arg(1, "groups")},
                   out);
    return model.quantize(model.node("aten.relu.default", {arg(sums, "self")}, out), out, 0.043, -128);
  };
  y = convolve(model.dequantize(y, sizes, 0x1p-5, 3), first, {16, 3, 3, 3}, first_sizes, 1);
  y = convolve(model.dequantize(y, first_sizes, 0.043, -128), second, {32, 16, 3, 3}, second_sizes, 2);
  y = model.node("aten.mean.dim",
                 {arg(model.dequantize(y, second_sizes, 0.043, -128), "self"), graph::ints_arg({2, 3}, "dim"),
                  graph::bool_arg(false, "keepdim")},
                 {1, 32});
  y = model.quantize(y, {1, 32}, 0.043, -128);
  y = model.node("aten.linear.default",
                 {arg(model.dequantize(y, {1, 32}, 0.043, -128), "input"),
                  arg(model.dequantize(last, {10, 32}, 0x1p-7, 0), "weight"), graph::none_arg("bias")},
                 {1, 10});
  model.output(model.quantize(y, {1, 10}, 0.11, 1));
  return model;
}

// The goal is 31 KiB: about what Vela plans for an Ethos-U55. The second memory meets it with the input and the output, too.
TEST_F(DspStub, ASmallConvolutionalNetNeedsLittleMemory) {
  const ImageBytes image = convolutional_net().image();
  std::vector<int8_t> expected;
  for (const int64_t tcm_kib : {256, 11}) {
    options_ = {number("tcm_kib", tcm_kib)};
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
    const auto known = read_payload(payload);
    ASSERT_TRUE(known) << known.error().message;
    const uint64_t planned = uint64_t{known->layout.tcm_bytes} + known->layout.arena_bytes;
    const uint64_t outside = 3 * 32 * 32 + 10;
    std::printf("tcm_kib %d: %u bytes of TCM, %u of arena, %llu outside\n", static_cast<int>(tcm_kib),
                known->layout.tcm_bytes, known->layout.arena_bytes, static_cast<unsigned long long>(outside));
    EXPECT_LE(planned + (tcm_kib == 11 ? outside : 0), 31u * 1024);
    const std::vector<int8_t> found = run(payload);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected);
  }
}

TEST_F(DspStub, TheEstimateIsWhatTheSimulatorCounts) {
  for (const int64_t tcm_kib : {256, 18}) {
    options_ = {number("tcm_kib", tcm_kib)};
    const ImageBytes image = small_net(1, 32, 16).image();
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(image, payload), ETB_OK) << error_.text;
    (void)run(payload);
    ASSERT_FALSE(events_.empty());
    const double counted_ns = static_cast<double>(events_.back().end) * 1e9 / DSP_CLOCK_HZ;
    EXPECT_NEAR(estimate(image).latency_ns, counted_ns, 0.05 * counted_ns);
    for (size_t i = 1; i < events_.size(); ++i) EXPECT_EQ(events_[i].begin, events_[i - 1].end);
  }
}

TEST_F(DspStub, PayloadsOfVersion1HaveOneEvent) {
  const ImageBytes image = small_net(1, 8, 8).image();
  std::vector<std::byte> newest, oldest;
  ASSERT_EQ(compile(image, newest), ETB_OK) << error_.text;
  const std::vector<int8_t> expected = run(newest);
  EXPECT_GT(events_.size(), 4u);
  options_ = {number("payload_version", 1)};
  ASSERT_EQ(compile(image, oldest), ETB_OK) << error_.text;
  EXPECT_EQ(run(oldest), expected);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].name, "dsp_stub.run");
}

// An average of codes of one scale rounds ties away from code 0, as CMSIS-NN does, and needs version 3. Payloads of version 2 have a
// multiplier, which rounds ties to the even distance from the zero point.
TEST_F(DspStub, AveragesOfOneScaleRoundTiesAwayFromZero) {
  constexpr int kRows = 500, kZero = 3;
  CodesModel model;
  const uint32_t x = model.input({kRows, 4});
  const uint32_t y = model.node("aten.mean.dim",
                                {arg(model.dequantize(x, {kRows, 4}, 0.05, kZero), "self"),
                                 graph::ints_arg({1}, "dim"), graph::bool_arg(false, "keepdim")},
                                {kRows});
  model.output(model.quantize(y, {kRows}, 0.05, kZero));
  for (const uint32_t version : {3u, 2u}) {
    SCOPED_TRACE(version);
    options_ = {number("payload_version", version)};
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(model.image(), payload), ETB_OK) << error_.text;
    ASSERT_GT(payload.size(), 4u);
    EXPECT_EQ(static_cast<uint32_t>(payload[4]), version);
    const std::vector<int8_t> found = run(payload, 5);
    ASSERT_EQ(found.size(), static_cast<size_t>(kRows));
    std::mt19937 random(5);
    int ties = 0;
    for (const int8_t code : found) {
      int sum = 0;
      for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(random());
      ties += sum % 4 == 2 || sum % 4 == -2 ? 1 : 0;
      const double mean = sum / 4.0;
      EXPECT_EQ(code, version == 3 ? std::round(mean) : std::nearbyint(mean - kZero) + kZero) << mean;
    }
    EXPECT_GT(ties, kRows / 8);
  }
}

// A target is a smaller device of the family. It can come from a file.
TEST_F(DspStub, AnotherKindOfTargetIsRejected) {
  const ImageBytes image = small_net(1, 8, 8).image();
  const etb_graph_image raw = image.to_c();
  etb_target target{};
  target.struct_size = ETB_INIT_SIZE(etb_target);
  target.kind = "gpu";
  target.name = "";
  etb_partition_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_partition_args);
  args.graph = &raw;
  args.target = &target;
  etb_estimate out{};
  out.struct_size = ETB_INIT_SIZE(etb_estimate);
  EXPECT_EQ(table_->aot->estimate(plugin_, &args, &out, &error_), ETB_NOT_SUPPORTED);
  EXPECT_THAT(error_.text, HasSubstr("'gpu', expected 'dsp'"));
  const etb_option small = number("tcm_kib", 4);
  target.kind = "dsp";
  target.attributes = &small;
  target.attribute_count = 1;
  ASSERT_EQ(table_->aot->estimate(plugin_, &args, &out, &error_), ETB_OK) << error_.text;
  EXPECT_LE(out.peak_bytes, estimate(image).peak_bytes + 8192);
}

TEST_F(DspStub, WhatIsNoWholePatternIsRejectedWithReasons) {
  CodesModel model;
  const uint32_t x = model.input({4, 8});
  const uint32_t real = model.dequantize(x, {4, 8}, 0.5, 0);
  const uint32_t y = model.node("aten.sigmoid.default", {arg(real, "self")}, {4, 8});
  const uint32_t z = model.node("aten.add.Tensor", {arg(y, "self"), arg(real, "other")}, {4, 8});
  model.output(model.quantize(z, {4, 8}, 0.5, 0));
  const auto answers = claims(model.image());
  EXPECT_THAT(answers.at(2),
              HasSubstr("aten.sigmoid.default before aten.add.Tensor, expected quantize between them"));
  EXPECT_THAT(answers.at(0), HasSubstr("org.etbackend.dsp-stub.pattern"));
}

// The schemes of a row are those that patterns with the op are claimed for: one scale for each channel is for weights.
TEST_F(DspStub, RowsStateTheSchemesThatPatternsHave) {
  std::map<std::string, std::vector<std::string>> schemes;
  const etb_op_sink sink = {
      ETB_INIT_SIZE(etb_op_sink), 0, &schemes, [](void* ctx, const etb_op_capability* op) -> etb_status {
        (*static_cast<std::map<std::string, std::vector<std::string>>*>(ctx))[op->op] = {
            op->quant_schemes, op->quant_schemes + op->quant_scheme_count};
        return ETB_OK;
      }};
  ASSERT_EQ(table_->aot->op_table(plugin_, &sink, &error_), ETB_OK);
  const auto has_channels = [&](const std::string& op) {
    return std::ranges::count(schemes[op], "per-channel") != 0;
  };
  for (const auto& [op, listed] : schemes) EXPECT_FALSE(listed.empty()) << op;

  for (const char* op : {"aten.mm.default", "aten.add.Tensor", "aten.t_copy.default", "aten.clone.default"}) {
    CodesModel model;
    const Sizes sizes = {4, 4};
    const uint32_t codes = model.constant(ETB_DTYPE_INT8, sizes, codes_of(16, 1)),
                   scales = model.constant(ETB_DTYPE_FLOAT32, {4}, std::vector<float>(4, 0.5f)),
                   zeros = model.constant(ETB_DTYPE_INT64, {4}, std::vector<int64_t>(4, 0));
    const uint32_t x = model.dequantize(model.input(sizes), sizes, 0.5, 0);
    uint32_t weight = model.node("quantized_decomposed.dequantize_per_channel.default",
                                 {arg(codes, "input"), arg(scales, "scales"), arg(zeros, "zero_points"),
                                  graph::int_arg(op == std::string("aten.t_copy.default") ? 0 : 1, "axis"),
                                  graph::int_arg(-128, "quant_min"), graph::int_arg(127, "quant_max"),
                                  graph::code_arg(ETB_GRAPH_ARGUMENT_DTYPE, ETB_DTYPE_INT8, "dtype")},
                                 sizes);
    const bool is_move = op == std::string("aten.t_copy.default") || op == std::string("aten.clone.default");
    if (is_move) weight = model.node(op, {arg(weight, "self")}, sizes);
    const std::string core = is_move ? "aten.mm.default" : op;
    const uint32_t y =
        model.node(core, {arg(x, "self"), arg(weight, core == "aten.mm.default" ? "mat2" : "other")}, sizes);
    model.output(model.quantize(y, sizes, 0.5, 0));
    const auto answers = claims(model.image());
    const bool is_claimed =
        std::ranges::all_of(answers, [](const auto& each) { return each.second.empty(); });
    EXPECT_EQ(is_claimed, has_channels(op)) << op << ": " << answers.rbegin()->second;
  }
}

// A float that leaves the region cannot be made.
TEST_F(DspStub, AFloatWithAnotherReaderIsNotClaimed) {
  CodesModel model;
  const uint32_t x = model.input({4, 8});
  const uint32_t real = model.dequantize(x, {4, 8}, 0.5, 0);
  const uint32_t y = model.node("aten.relu.default", {arg(real, "self")}, {4, 8});
  model.output(model.quantize(y, {4, 8}, 0.5, 0));
  model.output(real);
  for (const auto& [node, answer] : claims(model.image()))
    EXPECT_THAT(answer, HasSubstr("also read outside of claimed patterns")) << node;
}

// Functions of one element are exact: each of the 256 codes as floats round it.
TEST_F(DspStub, TablesAreExact) {
  for (const char* op :
       {"aten.sigmoid.default", "aten.tanh.default", "aten.hardswish.default", "aten.silu.default"}) {
    CodesModel model;
    const uint32_t x = model.input({1000});
    const uint32_t y = model.node(op, {arg(model.dequantize(x, {1000}, 0.05, 10), "self")}, {1000});
    model.output(model.quantize(y, {1000}, 0.02, -30));
    std::vector<std::byte> payload;
    ASSERT_EQ(compile(model.image(), payload), ETB_OK) << error_.text;
    const std::vector<int8_t> found = run(payload, 5);
    std::mt19937 random(5);
    const auto function = [op = std::string(op)](double v) {
      if (op == "aten.sigmoid.default") return 1 / (1 + std::exp(-v));
      if (op == "aten.tanh.default") return std::tanh(v);
      if (op == "aten.silu.default") return v / (1 + std::exp(-v));
      return v * std::min(std::max(v + 3, 0.0), 6.0) / 6;
    };
    for (const int8_t code : found) {
      const double real = function(0.05 * (static_cast<int8_t>(random()) - 10)) / 0.02 - 30;
      ASSERT_NEAR(code, std::min(std::max(real, -128.0), 127.0), 0.5001) << op;
    }
  }
}

// A dead channel has a tiny scale, so its bias needs more than 32 bits in the scale of the sum.
TEST_F(DspStub, ALargeBiasDoesNotSaturate) {
  CodesModel model;
  const uint32_t x = model.input({2, 4});
  const uint32_t w = model.constant(ETB_DTYPE_INT8, {2, 4}, codes_of(8, 9));
  const uint32_t b = model.constant(ETB_DTYPE_FLOAT32, {2}, std::vector<float>{3.0f, -1.25f});
  const uint32_t y = model.node("aten.linear.default",
                                {arg(model.dequantize(x, {2, 4}, 0x1p-5, 3), "input"),
                                 arg(model.dequantize(w, {2, 4}, 0x1p-50, 0), "weight"), arg(b, "bias")},
                                {2, 2});
  model.output(model.quantize(y, {2, 2}, 0.05, 1));
  std::vector<std::byte> payload;
  ASSERT_EQ(compile(model.image(), payload), ETB_OK) << error_.text;
  EXPECT_EQ(run(payload), (std::vector<int8_t>{61, -24, 61, -24}));
}

TEST_F(DspStub, DamagedPayloadsDoNoHarm) { flip_bits(small_net(1, 6, 4).image()); }

TEST_F(DspStub, CorpusIsCurrent) {
  expect_corpus("net", small_net(1, 14, 8).image(), 256);
  expect_corpus("tiles", small_net(1, 14, 8).image(), 4);
}

}  // namespace
}  // namespace etb::dsp_stub
