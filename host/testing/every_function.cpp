// SPDX-License-Identifier: Apache-2.0
#include "host/testing/every_function.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "etb/cpp/sink.hpp"

namespace etb::host {

void call_every_function(LayerFixture& fixture) {
  const etb_plugin_table& table = fixture.table();

  auto take_schema = [](const etb_option_schema&) -> etb_status { return ETB_OK; };
  const auto schemas = sink_to<etb_option_schema_sink>(take_schema);
  EXPECT_EQ(table.option_schema(fixture.plugin, &schemas, nullptr), ETB_OK);
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = "gain";
  option.type = ETB_OPTION_F64;
  option.f64 = 3;
  EXPECT_EQ(table.set_option(fixture.plugin, ETB_OBJECT_PLUGIN, fixture.plugin, &option, nullptr), ETB_OK);
  double gain = 0;
  auto take_option = [&](const etb_option& value) -> etb_status {
    gain = value.f64;
    return ETB_OK;
  };
  const auto values = sink_to<etb_option_sink>(take_option);
  EXPECT_EQ(table.get_option(fixture.plugin, ETB_OBJECT_PLUGIN, fixture.plugin, "gain", &values, nullptr),
            ETB_OK);
  EXPECT_EQ(gain, 3);
  EXPECT_EQ(table.get_extension(fixture.plugin, ETB_OBJECT_PLUGIN, fixture.plugin, "x/1"), nullptr);

  uint8_t uuid[16] = {};
  auto take_device = [&](const etb_device_info& info) -> etb_status {
    std::copy_n(info.uuid, 16, uuid);
    return ETB_OK;
  };
  const auto devices = sink_to<etb_device_sink>(take_device);
  EXPECT_EQ(table.device->enumerate(fixture.plugin, &devices, nullptr), ETB_OK);
  etb_device* device = nullptr;
  ASSERT_EQ(table.device->open(fixture.plugin, uuid, nullptr, 0, &device, nullptr), ETB_OK);
  EXPECT_EQ(table.device->query(device, &devices, nullptr), ETB_OK);

  etb_payload_check check{};
  check.struct_size = sizeof(check);
  check.backend_id = kToyBackend;
  etb_verdict verdict{};
  verdict.struct_size = sizeof(verdict);
  EXPECT_EQ(table.delegate->check_payload(fixture.plugin, &check, &verdict, nullptr), ETB_OK);
  fixture.delegate_args.device = device;
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  EXPECT_EQ(table.delegate->query(fixture.delegate(), &info, nullptr), ETB_OK);
  auto take_req = [](const etb_io_req&) -> etb_status { return ETB_OK; };
  const auto reqs = sink_to<etb_io_req_sink>(take_req);
  EXPECT_EQ(table.delegate->query_io(fixture.delegate(), &reqs, nullptr), ETB_OK);
  EXPECT_EQ(table.delegate->context_reserve(fixture.context(), &fixture.run.input, 1, nullptr), ETB_OK);
  EXPECT_EQ(fixture.execute(), ETB_OK);
  fixture.run.signal_by_call([](void*, etb_status) {});
  EXPECT_EQ(table.delegate->execute_async(fixture.context(), &fixture.run.args, nullptr), ETB_OK);
  fixture.run.signal_nothing();
  EXPECT_EQ(table.delegate->cancel(fixture.context(), nullptr), ETB_OK);

  auto take_op = [](const etb_op_capability&) -> etb_status { return ETB_OK; };
  const auto ops = sink_to<etb_op_sink>(take_op);
  EXPECT_EQ(table.aot->op_table(fixture.plugin, &ops, nullptr), ETB_OK);
  auto take_name = [](const char&) -> etb_status { return ETB_OK; };
  const auto names = sink_to<etb_text_sink>(take_name);
  EXPECT_EQ(table.aot->preserve_ops(fixture.plugin, &names, nullptr), ETB_OK);
  const etb_graph_image image = fixture.image().to_c();
  etb_partition_args args{};
  args.struct_size = sizeof(args);
  args.graph = &image;
  args.backend_id = kToyBackend;
  const etb_partition_sink answers{sizeof(answers), 0, nullptr,
                                   [](void*, const etb_claim*) -> etb_status { return ETB_OK; },
                                   [](void*, const etb_reject*) -> etb_status { return ETB_OK; }};
  EXPECT_EQ(table.aot->partition(fixture.plugin, &args, &answers, nullptr), ETB_OK);
  EXPECT_EQ(table.aot->dry_check(fixture.plugin, &args, nullptr), ETB_OK);
  etb_estimate estimate{};
  estimate.struct_size = sizeof(estimate);
  EXPECT_EQ(table.aot->estimate(fixture.plugin, &args, &estimate, nullptr), ETB_OK);
  etb_compile_args compile{};
  compile.struct_size = sizeof(compile);
  compile.backend_id = kToyBackend;
  const etb_artifact_sink artifacts{
      sizeof(artifacts),
      0,
      nullptr,
      [](void*, uint32_t, const etb_blob_writer**) -> etb_status { return ETB_OK; },
      [](void*, const etb_named_blob*) -> etb_status { return ETB_OK; },
      [](void*, const etb_artifact*) -> etb_status { return ETB_OK; }};
  compile.sink = &artifacts;
  EXPECT_EQ(table.aot->compile(fixture.plugin, &compile, nullptr), ETB_OK);

  fixture.end_delegate();
  EXPECT_EQ(table.device->close(device, nullptr), ETB_OK);
  EXPECT_EQ(fixture.stop(), ETB_OK);
}

}  // namespace etb::host
