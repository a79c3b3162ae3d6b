// SPDX-License-Identifier: Apache-2.0
// Tests that today's host finds, loads and runs plugins built against the headers of ABI 1.0, and compiles
// with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/format/graph_builder.hpp"
#include "host/plugin/delegate.hpp"
#include "host/registry/registry.hpp"

namespace {

using testing::ElementsAre;

struct Compiled {
  std::vector<uint8_t> payload;
  etb_blob_writer writer{};
};

etb_status ETB_CALL write_payload(void* ctx, uint64_t offset_bytes, const void* data, uint64_t nbytes) {
  auto& payload = static_cast<Compiled*>(ctx)->payload;
  if (payload.size() < offset_bytes + nbytes) payload.resize(offset_bytes + nbytes);
  std::memcpy(payload.data() + offset_bytes, data, nbytes);
  return ETB_OK;
}
etb_status ETB_CALL begin_payload(void* ctx, uint32_t, const etb_blob_writer** out) {
  auto& compiled = *static_cast<Compiled*>(ctx);
  compiled.writer = {ETB_INIT_SIZE(etb_blob_writer), 0, ctx, write_payload};
  *out = &compiled.writer;
  return ETB_OK;
}
etb_status ETB_CALL named_blob(void*, const etb_named_blob*) { return ETB_OK; }
etb_status ETB_CALL end_payload(void*, const etb_artifact*) { return ETB_OK; }

// One sum of two vectors of three.
etb::Result<etb::graph::ImageBytes> make_sum() {
  etb::graph::Builder builder("forward");
  const uint32_t spec = builder.add_spec({ETB_DTYPE_FLOAT32, {3}});
  etb::graph::GraphBuilder& graph = builder.add_graph("forward");
  const uint32_t x = graph.add_input(etb::graph::tensor("x", spec));
  const uint32_t y = graph.add_input(etb::graph::tensor("y", spec));
  graph.add_output(graph.add_node({.op = "aten.add.Tensor",
                                   .args = {etb::graph::value_arg(x), etb::graph::value_arg(y)},
                                   .outputs = {etb::graph::tensor("sum", spec)}}));
  return builder.finish();
}

etb::Status compile_sum(const etb::host::PluginContext& plugin, Compiled& compiled) {
  ETB_ASSIGN(const auto image, make_sum());
  const etb_graph_image region = image.to_c();
  const etb_artifact_sink sink = {
      ETB_INIT_SIZE(etb_artifact_sink), 0, &compiled, begin_payload, named_blob, end_payload};
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.backend_id = "";
  args.graphs = &region;
  args.graph_count = 1;
  args.sink = &sink;
  etb_error error = ETB_ERROR_INIT;
  return etb::check(plugin.table().aot->compile(plugin.handle(), &args, &error), error);
}

etb_tensor tensor_of(int64_t* sizes, float* data) {
  etb_tensor tensor{};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.dtype = ETB_DTYPE_FLOAT32;
  tensor.rank = 1;
  tensor.sizes = sizes;
  tensor.data = data;
  tensor.capacity_bytes = 3 * sizeof(float);
  return tensor;
}

etb::Status run_sum(const etb::host::PluginContext& plugin, const std::vector<uint8_t>& bytes,
                    float (&sum)[3]) {
  etb_payload_view payload{};
  payload.struct_size = ETB_INIT_SIZE(etb_payload_view);
  payload.data = bytes.data();
  payload.nbytes = bytes.size();
  payload.alignment = 16;
  payload.fd = -1;
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.backend_id = args.method_name = "";
  args.payload = &payload;
  ETB_ASSIGN(const auto delegate, plugin.create_delegate(args));
  ETB_ASSIGN(auto context, delegate.create_context());
  int64_t sizes[] = {3};
  float left[] = {1, 2, 3}, right[] = {10, 20, 30};
  const etb_tensor inputs[] = {tensor_of(sizes, left), tensor_of(sizes, right)};
  etb_tensor output = tensor_of(sizes, sum);
  etb_exec_args call{};
  call.struct_size = ETB_INIT_SIZE(etb_exec_args);
  call.inputs = inputs;
  call.input_count = 2;
  call.outputs = &output;
  call.output_count = 1;
  return context.execute(call);
}

class Compat : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Template10, Compat, testing::Values("cpp", "c"),
                         [](const auto& flavour) { return std::string(flavour.param); });

// proves: ABI-VER-01 ABI-VER-03
TEST_P(Compat, PluginOfAbi10RunsInTodaysHost) {
  etb::host::RegistryOptions options;
  options.application_paths = {ETB_COMPAT_DIR};
  etb::host::Registry registry(options);
  const auto selection = registry.open(std::string("org.etbackend.template-1-0-") + GetParam(), {});
  ASSERT_TRUE(selection) << selection.error().message;
  EXPECT_EQ(selection->plugin->table().abi_version, ETB_ABI_MAKE(1, 0));

  Compiled compiled;
  const auto status = compile_sum(*selection->plugin, compiled);
  ASSERT_TRUE(status) << status.error().message;
  float sum[3] = {};
  const auto ran = run_sum(*selection->plugin, compiled.payload, sum);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(sum, ElementsAre(11, 22, 33));
}

// proves: ABI-VER-03
TEST_P(Compat, PayloadOfAbi10IsStillRead) {
  etb::host::RegistryOptions options;
  options.application_paths = {ETB_COMPAT_DIR};
  etb::host::Registry registry(options);
  const auto selection = registry.open(std::string("org.etbackend.template-1-0-") + GetParam(), {});
  ASSERT_TRUE(selection) << selection.error().message;
  // "TEMP", version 1, two inputs, 0 + 1: the payload that the frozen version compiled.
  const uint8_t words[] = {'T', 'E', 'M', 'P', 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  float sum[3] = {};
  const auto ran = run_sum(*selection->plugin, {std::begin(words), std::end(words)}, sum);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_THAT(sum, ElementsAre(11, 22, 33));
}

}  // namespace
