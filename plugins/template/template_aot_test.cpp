// SPDX-License-Identifier: Apache-2.0
// Tests the ahead-of-time half of both templates: claims with reasons for a graph image, and payloads of
// compiled regions, which then run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(my_npu);
ETB_DECLARE_STATIC_PLUGIN(my_npu_c);
}

namespace {

using etb::graph::Builder;
using etb::graph::GraphBuilder;
using etb::graph::ImageBytes;
using etb::graph::tensor;
using etb::graph::value_arg;
using testing::ElementsAre;
using testing::HasSubstr;

struct Flavour {
  const char* name;
  etb_plugin_query_fn query;
};

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }

// Answers of partition for each node, in the order of the calls.
struct Answers {
  std::vector<uint32_t> order;
  std::map<uint32_t, std::string> reasons;  // "" for a claim
  std::map<uint32_t, uint32_t> claim_flags;
  etb_status answer = ETB_OK;
};

// The payloads of a compilation.
struct Payloads {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<uint32_t> versions;
  etb_blob_writer writer{};
  etb_status answer = ETB_OK;
};

etb_status ETB_CALL write_payload(void* ctx, uint64_t offset_bytes, const void* data, uint64_t nbytes) {
  std::vector<uint8_t>& out = static_cast<Payloads*>(ctx)->bytes.back();
  if (out.size() < offset_bytes + nbytes) out.resize(offset_bytes + nbytes);
  std::memcpy(out.data() + offset_bytes, data, nbytes);
  return ETB_OK;
}
etb_status ETB_CALL begin_payload(void* ctx, uint32_t, const etb_blob_writer** out) {
  auto& payloads = *static_cast<Payloads*>(ctx);
  payloads.writer = {ETB_INIT_SIZE(etb_blob_writer), 0, ctx, write_payload};
  payloads.bytes.emplace_back();
  *out = &payloads.writer;
  return payloads.answer;
}
etb_status ETB_CALL named_blob(void*, const etb_named_blob*) { return ETB_OK; }
etb_status ETB_CALL end_payload(void* ctx, const etb_artifact* artifact) {
  static_cast<Payloads*>(ctx)->versions.push_back(artifact->format_version);
  return ETB_OK;
}

class TemplateAot : public testing::TestWithParam<Flavour> {
 protected:
  void SetUp() override {
    host_.struct_size = ETB_INIT_SIZE(etb_host);
    host_.abi_version = ETB_ABI_VERSION;
    host_.name = host_.version = host_.plugin_dir = "";
    host_.get_service = no_service;
    table_ = GetParam().query(&host_, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_EQ(table_->init(&host_, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
  }
  void TearDown() override { EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text; }

  etb_status partition(const ImageBytes& image, Answers& answers) {
    const etb_graph_image raw = image.to_c();
    etb_partition_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_partition_args);
    args.graph = &raw;
    args.backend_id = "MyNpuBackend";
    const etb_partition_sink sink = {ETB_INIT_SIZE(etb_partition_sink), 0, &answers,
                                     [](void* ctx, const etb_claim* claim) {
                                       auto& out = *static_cast<Answers*>(ctx);
                                       for (uint32_t i = 0; i < claim->node_count; ++i) {
                                         out.order.push_back(claim->node_ids[i]);
                                         out.reasons[claim->node_ids[i]] = "";
                                         out.claim_flags[claim->node_ids[i]] = claim->flags;
                                       }
                                       return out.answer;
                                     },
                                     [](void* ctx, const etb_reject* reject) {
                                       auto& out = *static_cast<Answers*>(ctx);
                                       for (uint32_t i = 0; i < reject->node_count; ++i) {
                                         out.order.push_back(reject->node_ids[i]);
                                         out.reasons[reject->node_ids[i]] =
                                             std::string(reject->reason) + ": " + reject->text;
                                       }
                                       return out.answer;
                                     }};
    return table_->aot->partition(plugin_, &args, &sink, &error_);
  }
  // Returns the answer for the one node of an image.
  std::string reason_for(const Builder& builder) {
    const auto image = builder.finish();
    EXPECT_TRUE(image) << image.error().message;
    Answers answers;
    EXPECT_EQ(partition(*image, answers), ETB_OK) << error_.text;
    EXPECT_EQ(answers.order.size(), 1u);
    return answers.reasons[0];
  }
  etb_status compile(const std::vector<etb_graph_image>& regions, Payloads& payloads,
                     const etb_cancel_token* cancel = nullptr) {
    const etb_artifact_sink sink = {
        ETB_INIT_SIZE(etb_artifact_sink), 0, &payloads, begin_payload, named_blob, end_payload};
    etb_compile_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_compile_args);
    args.backend_id = "MyNpuBackend";
    args.graphs = regions.data();
    args.graph_count = regions.size();
    args.sink = &sink;
    args.cancel = cancel;
    return table_->aot->compile(plugin_, &args, &error_);
  }

  etb_host host_{};
  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
};

INSTANTIATE_TEST_SUITE_P(Flavours, TemplateAot,
                         testing::Values(Flavour{"cpp", etb_plugin_query_my_npu},
                                         Flavour{"c", etb_plugin_query_my_npu_c}),
                         [](const auto& flavour) { return flavour.param.name; });

// Adds x + y of the given specs, as one node.
void add_sum(Builder& builder, uint32_t left, uint32_t right, uint32_t result,
             const char* op = "aten.add.Tensor", std::vector<etb::graph::ArgumentDesc> more = {}) {
  GraphBuilder& graph = builder.add_graph("forward");
  const uint32_t x = graph.add_input(tensor("x", left));
  const uint32_t y = graph.add_input(tensor("y", right));
  std::vector<etb::graph::ArgumentDesc> args = {value_arg(x, "self"), value_arg(y, "other")};
  args.insert(args.end(), more.begin(), more.end());
  graph.add_output(graph.add_node({.op = op, .args = args, .outputs = {tensor("sum", result)}}));
}

Builder simple_sum(const char* op = "aten.add.Tensor", std::vector<etb::graph::ArgumentDesc> more = {}) {
  Builder builder("forward");
  const uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {2, 3}});
  add_sum(builder, spec, spec, spec, op, std::move(more));
  return builder;
}

Builder sum_of(const etb::graph::SpecDesc& desc) {
  Builder builder("forward");
  const uint32_t spec = builder.add_spec(desc);
  add_sum(builder, spec, spec, spec);
  return builder;
}

TEST_P(TemplateAot, OpTableHasTheOneRow) {
  std::vector<std::string> ops;
  const etb_op_sink sink = {ETB_INIT_SIZE(etb_op_sink), 0, &ops, [](void* ctx, const etb_op_capability* op) {
                              static_cast<std::vector<std::string>*>(ctx)->push_back(op->op);
                              EXPECT_EQ(op->dtype_count, 1u);
                              EXPECT_EQ(op->dtypes[0], ETB_DTYPE_FLOAT32);
                              EXPECT_EQ(op->layouts, ETB_LAYOUT_CONTIGUOUS);
                              EXPECT_EQ(op->flags, ETB_OP_DYNAMIC_SIZES);
                              return ETB_OK + 0;
                            }};
  EXPECT_EQ(table_->aot->op_table(plugin_, &sink, &error_), ETB_OK);
  EXPECT_THAT(ops, ElementsAre("aten.add.Tensor"));
}

TEST_P(TemplateAot, ClaimsASumAsARegionOfItsOwn) {
  const auto image = simple_sum().finish();
  ASSERT_TRUE(image) << image.error().message;
  Answers answers;
  ASSERT_EQ(partition(*image, answers), ETB_OK) << error_.text;
  EXPECT_THAT(answers.claim_flags, ElementsAre(testing::Pair(0u, ETB_CLAIM_OWN_REGION)));
  EXPECT_EQ(reason_for(simple_sum("aten.add.Tensor", {etb::graph::int_arg(1, "alpha")})), "");
  EXPECT_EQ(reason_for(sum_of({ETB_DTYPE_FLOAT32, {}})), "") << "rank 0";
}

TEST_P(TemplateAot, EveryRefusalHasItsReason) {
  EXPECT_THAT(reason_for(simple_sum("aten.sub.Tensor")), HasSubstr("op: "));
  EXPECT_THAT(reason_for(simple_sum("aten.add.Tensor", {etb::graph::int_arg(2, "alpha")})),
              HasSubstr("attribute: alpha"));
  EXPECT_THAT(reason_for(sum_of({ETB_DTYPE_INT32, {2, 3}})), HasSubstr("dtype: "));
  EXPECT_THAT(reason_for(sum_of({ETB_DTYPE_FLOAT32, {1, 2, 3, 4}, {0, 2, 3, 1}})), HasSubstr("layout: "));

  Builder broadcast("forward");
  const uint32_t row = broadcast.add_spec({ETB_DTYPE_FLOAT32, {3}});
  const uint32_t matrix = broadcast.add_spec({ETB_DTYPE_FLOAT32, {2, 3}});
  add_sum(broadcast, matrix, row, matrix);
  EXPECT_THAT(reason_for(broadcast), HasSubstr(".broadcast: operands of different sizes"));

  Builder constant("forward");
  const uint32_t spec = constant.add_spec({ETB_DTYPE_FLOAT32, {1}});
  const uint32_t weight = constant.add_constant({.key = "w", .spec = spec});
  GraphBuilder& graph = constant.add_graph("forward");
  const uint32_t x = graph.add_input(tensor("x", spec));
  const uint32_t w = graph.add_input(tensor("w", spec), ETB_GRAPH_INPUT_PARAMETER, "w", weight);
  graph.add_output(graph.add_node(
      {.op = "aten.add.Tensor", .args = {value_arg(x), value_arg(w)}, .outputs = {tensor("sum", spec)}}));
  EXPECT_THAT(reason_for(constant), HasSubstr(".constant: a constant or state operand"));
}

TEST_P(TemplateAot, DynamicSizesAreTakenWhenBothHaveTheSameFormula) {
  const auto dynamic_sum = [&](bool same) {
    Builder builder("forward");
    const uint32_t a = builder.add_symbol_expr(builder.add_symbol({.name = "a", .min = 1, .max = 8}));
    const uint32_t b = builder.add_symbol_expr(builder.add_symbol({.name = "b", .min = 1, .max = 8}));
    const uint32_t left = builder.add_spec({ETB_DTYPE_FLOAT32, {8, 3}, {}, {{0, 1, a}}});
    const uint32_t right = builder.add_spec({ETB_DTYPE_FLOAT32, {8, 3}, {}, {{0, 1, same ? a : b}}});
    add_sum(builder, left, right, left);
    return reason_for(builder);
  };
  EXPECT_EQ(dynamic_sum(true), "");
  EXPECT_THAT(dynamic_sum(false), HasSubstr("different sizes"));
}

// proves: ABI-AOT-01 ABI-SINK-02
TEST_P(TemplateAot, EachNodeIsAnsweredOnceAndAStoppedSinkStops) {
  Builder builder("forward");
  const uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {4}});
  GraphBuilder& graph = builder.add_graph("forward");
  uint32_t value = graph.add_input(tensor("x", spec));
  for (int i = 0; i < 6; ++i) {
    const bool is_sum = i % 2 == 0;
    std::vector<etb::graph::ArgumentDesc> args = {value_arg(value)};
    if (is_sum) args.push_back(value_arg(value));
    value = graph.add_node({.op = is_sum ? "aten.add.Tensor" : "aten.relu.default",
                            .args = args,
                            .outputs = {tensor("v" + std::to_string(i), spec)}});
  }
  graph.add_output(value);
  const auto image = builder.finish();
  ASSERT_TRUE(image) << image.error().message;
  Answers answers;
  ASSERT_EQ(partition(*image, answers), ETB_OK) << error_.text;
  EXPECT_THAT(answers.order, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(answers.claim_flags.size(), 3u);

  Answers stopped;
  stopped.answer = ETB_CANCELLED;
  EXPECT_EQ(partition(*image, stopped), ETB_CANCELLED);
  EXPECT_EQ(stopped.order.size(), 1u);
}

// proves: ABI-AOT-02 ABI-AOT-03
TEST_P(TemplateAot, CompilesTheSameBytesEveryTimeWithoutADevice) {
  const auto image = simple_sum().finish();
  ASSERT_TRUE(image) << image.error().message;
  Payloads first, second;
  ASSERT_EQ(compile({image->to_c(), image->to_c()}, first), ETB_OK) << error_.text;
  ASSERT_EQ(compile({image->to_c()}, second), ETB_OK) << error_.text;
  ASSERT_EQ(first.bytes.size(), 2u);
  EXPECT_EQ(first.bytes[0], first.bytes[1]);
  EXPECT_EQ(first.bytes[0], second.bytes[0]);
  EXPECT_THAT(first.versions, ElementsAre(1, 1));
}

TEST_P(TemplateAot, RefusesToCompileWhatItDidNotClaim) {
  const auto image = simple_sum("aten.sub.Tensor").finish();
  ASSERT_TRUE(image) << image.error().message;
  Payloads payloads;
  EXPECT_EQ(compile({image->to_c()}, payloads), ETB_NOT_SUPPORTED);
  EXPECT_THAT(error_.text, HasSubstr("node 0"));
  EXPECT_TRUE(payloads.bytes.empty());
  etb_graph_image damaged = image->to_c();
  damaged.image.nbytes = 3;
  EXPECT_EQ(compile({damaged}, payloads), ETB_INVALID_DATA);
}

TEST_P(TemplateAot, CompilationStopsWhenAsked) {
  const auto image = simple_sum().finish();
  Payloads payloads;
  const etb_cancel_token cancelled = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr,
                                      [](void*) { return uint32_t{1}; }};
  EXPECT_EQ(compile({image->to_c()}, payloads, &cancelled), ETB_CANCELLED);
  payloads.answer = ETB_OUT_OF_RESOURCES;
  EXPECT_EQ(compile({image->to_c()}, payloads), ETB_OUT_OF_RESOURCES);
}

TEST_P(TemplateAot, CompiledSumRuns) {
  const auto image = simple_sum().finish();
  Payloads payloads;
  ASSERT_EQ(compile({image->to_c()}, payloads), ETB_OK) << error_.text;
  const std::vector<uint8_t>& payload = payloads.bytes.at(0);
  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  view.data = payload.data();
  view.nbytes = payload.size();
  view.fd = -1;
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.payload = &view;
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(table_->delegate->create(plugin_, &args, &delegate, &error_), ETB_OK) << error_.text;
  etb_context* context = nullptr;
  ASSERT_EQ(table_->delegate->context_create(delegate, nullptr, 0, &context, &error_), ETB_OK) << error_.text;

  int64_t sizes[] = {2, 3};
  float left[] = {1, 2, 3, 4, 5, 6}, right[] = {6, 5, 4, 3, 2, 1}, sum[6] = {};
  const auto tensor_of = [&](float* data) {
    etb_tensor made{};
    made.struct_size = ETB_INIT_SIZE(etb_tensor);
    made.dtype = ETB_DTYPE_FLOAT32;
    made.rank = 2;
    made.sizes = sizes;
    made.data = data;
    made.capacity_bytes = sizeof(sum);
    return made;
  };
  const etb_tensor inputs[] = {tensor_of(left), tensor_of(right)};
  etb_tensor output = tensor_of(sum);
  etb_exec_args call{};
  call.struct_size = ETB_INIT_SIZE(etb_exec_args);
  call.inputs = inputs;
  call.outputs = &output;
  call.input_count = 2;
  call.output_count = 1;
  EXPECT_EQ(table_->delegate->execute(context, &call, &error_), ETB_OK) << error_.text;
  EXPECT_THAT(sum, testing::Each(7));
  EXPECT_EQ(table_->delegate->context_destroy(context, &error_), ETB_OK);
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
}

}  // namespace
