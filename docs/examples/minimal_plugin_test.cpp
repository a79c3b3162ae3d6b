// SPDX-License-Identifier: Apache-2.0
// The smallest whole plugin works, and is small.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "etb/static_plugins.h"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(minimal_plugin);
}

namespace {

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }

TEST(MinimalPlugin, Runs) {
  etb_host host{};
  host.struct_size = ETB_INIT_SIZE(etb_host);
  host.abi_version = ETB_ABI_VERSION;
  host.name = host.version = host.plugin_dir = "";
  host.get_service = no_service;
  const etb_plugin_table* table = etb_plugin_query_minimal_plugin(&host, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
  ASSERT_NE(table, nullptr);
  etb_error error = ETB_ERROR_INIT;
  etb_plugin* plugin = nullptr;
  ASSERT_EQ(table->init(&host, nullptr, 0, &plugin, &error), ETB_OK) << error.text;

  const uint32_t payload[] = {1};
  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  view.data = payload;
  view.nbytes = sizeof(payload);
  view.fd = -1;
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.payload = &view;
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(table->delegate->create(plugin, &args, &delegate, &error), ETB_OK) << error.text;
  etb_context* context = nullptr;
  ASSERT_EQ(table->delegate->context_create(delegate, nullptr, 0, &context, &error), ETB_OK) << error.text;

  int64_t sizes[] = {2};
  float from[] = {1, -2}, to[] = {0, 0};
  etb_tensor input{};
  input.struct_size = ETB_INIT_SIZE(etb_tensor);
  input.dtype = ETB_DTYPE_FLOAT32;
  input.rank = 1;
  input.sizes = sizes;
  input.data = from;
  input.capacity_bytes = sizeof(from);
  etb_tensor output = input;
  output.data = to;
  etb_exec_args call{};
  call.struct_size = ETB_INIT_SIZE(etb_exec_args);
  call.inputs = &input;
  call.outputs = &output;
  call.input_count = call.output_count = 1;
  EXPECT_EQ(table->delegate->execute(context, &call, &error), ETB_OK) << error.text;
  EXPECT_THAT(to, testing::ElementsAre(-1, 2));

  EXPECT_EQ(table->delegate->context_destroy(context, &error), ETB_OK);
  EXPECT_EQ(table->delegate->destroy(delegate, &error), ETB_OK);
  EXPECT_EQ(table->deinit(plugin, &error), ETB_OK);
}

TEST(MinimalPlugin, IsAboutSixtyLines) {
  std::ifstream in(ETB_SOURCE_DIR "/docs/examples/minimal_plugin.cpp");
  int line_count = 0;
  for (std::string line; std::getline(in, line);) ++line_count;
  EXPECT_GT(line_count, 30);
  EXPECT_LE(line_count, 60);
}

}  // namespace
