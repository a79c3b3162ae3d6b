// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "host/plugin/complete_table.hpp"
#include "host/plugin/delegate.hpp"
#include "host/testing/toy_plugin.hpp"

namespace etb::host {
namespace {

struct Life : PluginLife {
  CompleteTable complete;
  etb_host host{};
  etb_status* deinit = nullptr;
  void on_deinit(etb_status status) noexcept override { *deinit = status; }
};

class Handles : public ::testing::Test {
 protected:
  Result<PluginContext> start(std::span<const etb_option> options = {}) {
    auto life = std::make_shared<Life>();
    life->host.struct_size = sizeof(etb_host);
    life->host.get_service = [](const etb_host*, const char*) -> const void* { return nullptr; };
    life->deinit = &deinit_;
    ETB_TRY(life->complete.assign(toy_.plugin));
    const Life& kept = *life;
    return PluginContext::make(life, kept.complete.table(), kept.host, options);
  }

  Result<Delegate> create(const PluginContext& plugin, const Device* device = nullptr) {
    payload_.struct_size = sizeof(payload_);
    payload_.data = kToyPayload;
    payload_.nbytes = 4;
    payload_.alignment = 16;
    payload_.fd = -1;
    etb_delegate_args args{};
    args.struct_size = sizeof(args);
    args.backend_id = kToyBackend;
    args.method_name = "forward";
    args.payload = &payload_;
    return plugin.create_delegate(args, device);
  }

  ToyPlugin toy_;
  etb_payload_view payload_{};
  etb_status deinit_ = -1;
};

TEST_F(Handles, EndInOrderWhateverTheOrderOfTheirOwners) {
  {
    std::optional<Result<PluginContext>> plugin(start());
    ASSERT_TRUE(*plugin);
    uint8_t uuid[16] = {};
    ASSERT_TRUE(
        (**plugin).each_device([&](const etb_device_info& info) { std::copy_n(info.uuid, 16, uuid); }));
    std::optional<Result<Device>> device((**plugin).open_device(uuid));
    ASSERT_TRUE(*device) << device->error().message;
    std::optional<Result<Delegate>> delegate(create(**plugin, &**device));
    ASSERT_TRUE(*delegate) << delegate->error().message;
    Result<Context> context = (**delegate).create_context();
    ASSERT_TRUE(context);
    plugin.reset();
    device.reset();
    delegate.reset();
    EXPECT_EQ(deinit_, -1) << "the context keeps the plugin alive";
  }
  EXPECT_EQ(deinit_, ETB_OK) << "and its end ended all, in order";
}

TEST_F(Handles, RunADelegate) {
  Result<PluginContext> plugin = start();
  ASSERT_TRUE(plugin);
  Result<Delegate> delegate = create(*plugin);
  ASSERT_TRUE(delegate);
  Result<etb_delegate_info> info = delegate->query();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->input_count, 1u);
  std::vector<uint32_t> roles;
  ASSERT_TRUE(delegate->query_io([&](const etb_io_req& req) { roles.push_back(req.role); }));
  EXPECT_THAT(roles, ::testing::ElementsAre(ETB_ROLE_INPUT, ETB_ROLE_OUTPUT));

  Result<Context> context = delegate->create_context();
  ASSERT_TRUE(context);
  float in[2] = {1, 2}, out[2] = {};
  int64_t sizes[1] = {2}, out_sizes[1] = {0};
  etb_tensor input{};
  input.struct_size = sizeof(input);
  input.dtype = ETB_DTYPE_FLOAT32;
  input.rank = 1;
  input.role = ETB_ROLE_INPUT;
  input.sizes = sizes;
  input.data = in;
  input.capacity_bytes = sizeof(in);
  etb_tensor output = input;
  output.role = ETB_ROLE_OUTPUT;
  output.sizes = out_sizes;
  output.data = out;
  etb_exec_args args{};
  args.struct_size = sizeof(args);
  args.inputs = &input;
  args.outputs = &output;
  args.input_count = args.output_count = 1;
  ASSERT_TRUE(context->reserve({&input, 1}));
  ASSERT_TRUE(context->execute(args));
  EXPECT_THAT(out, ::testing::ElementsAre(2.0f, 3.0f));
  EXPECT_EQ(out_sizes[0], 2);

  input.dtype = ETB_DTYPE_INT32;
  const Status failed = context->execute(args);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::INVALID_ARGUMENT);
  EXPECT_EQ(failed.error().message, "dtypes 3 and 6, expected float");
  input.dtype = ETB_DTYPE_FLOAT32;
  EXPECT_TRUE(context->execute(args));
  EXPECT_TRUE(context->cancel());

  Context moved = std::move(*context);
  EXPECT_TRUE(moved.execute(args));
  Result<Context> other = delegate->create_context();
  ASSERT_TRUE(other);
  moved = std::move(*other);
  EXPECT_TRUE(moved.execute(args));
}

TEST_F(Handles, AnswerErrorsWithTheirText) {
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = "colour";
  option.type = ETB_OPTION_F64;
  Result<PluginContext> plugin = start({&option, 1});
  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().code, Code::INVALID_ARGUMENT);
  EXPECT_EQ(plugin.error().message, "unknown option 'colour'");
  EXPECT_EQ(deinit_, -1) << "what was not initialised is not ended";

  toy_.plugin.init = [](const etb_host*, const etb_option*, uint64_t, etb_plugin**,
                        etb_error*) -> etb_status { return ETB_OK; };
  EXPECT_FALSE(start());
}

// proves: ABI-OPT-02
TEST_F(Handles, ReadAndChangeOptions) {
  Result<PluginContext> plugin = start();
  ASSERT_TRUE(plugin);
  std::string keys;
  ASSERT_TRUE(plugin->each_option([&](const etb_option_schema& schema) { keys += schema.key; }));
  EXPECT_EQ(keys, "gain");
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = "gain";
  option.type = ETB_OPTION_F64;
  option.f64 = 4;
  ASSERT_TRUE(plugin->set_option(option));
  double gain = 0;
  ASSERT_TRUE(plugin->get_option("gain", [&](const etb_option& value) { gain = value.f64; }));
  EXPECT_EQ(gain, 4);
  EXPECT_EQ(plugin->get_option("pain", [](const etb_option&) {}).error().code, Code::NOT_FOUND);

  // The plugin rejects values that its schema does not allow, and keeps the value from before.
  option.f64 = 1e9;
  EXPECT_EQ(plugin->set_option(option).error().code, Code::INVALID_ARGUMENT);
  option.type = ETB_OPTION_TEXT;
  option.text = "8";
  EXPECT_EQ(plugin->set_option(option).error().code, Code::INVALID_ARGUMENT);
  ASSERT_TRUE(plugin->get_option("gain", [&](const etb_option& value) { gain = value.f64; }));
  EXPECT_EQ(gain, 4);
  EXPECT_EQ(plugin->find_extension("x/1"), nullptr);
}

// proves: ABI-DEV-01
TEST_F(Handles, AMachineWithoutTheHardwareIsNoError) {
  toy_.device.enumerate = [](etb_plugin*, const etb_device_sink*, etb_error*) -> etb_status {
    return ETB_OK;
  };
  toy_.device.open = [](etb_plugin*, const uint8_t*, const etb_option*, uint64_t, etb_device**,
                        etb_error* error) -> etb_status {
    return to_c(Error{Code::NOT_FOUND, "no device of this uuid now", "", 0}, error);
  };
  Result<PluginContext> plugin = start();
  ASSERT_TRUE(plugin) << plugin.error().message;
  size_t count = 0;
  EXPECT_TRUE(plugin->each_device([&](const etb_device_info&) { ++count; }));
  EXPECT_EQ(count, 0u);
  const uint8_t uuid[16] = {};
  EXPECT_EQ(plugin->open_device(uuid).error().code, Code::NOT_FOUND);
}

// proves: ABI-OWN-04
TEST_F(Handles, WhatAFailedCallWritesIsNoHandle) {
  toy_.plugin.init = [](const etb_host*, const etb_option*, uint64_t, etb_plugin** out,
                        etb_error* error) -> etb_status {
    *out = reinterpret_cast<etb_plugin*>(0x10);
    return to_c(Error{Code::UNAVAILABLE, "driver missing", "", 0}, error);
  };
  EXPECT_EQ(start().error().message, "driver missing");
  EXPECT_EQ(deinit_, -1) << "deinit was called for a context that was never made";
}

TEST_F(Handles, CheckPayloads) {
  Result<PluginContext> plugin = start();
  ASSERT_TRUE(plugin);
  etb_payload_check check{};
  check.struct_size = sizeof(check);
  check.backend_id = kToyBackend;
  check.prefix = {"TOY1", 4};
  EXPECT_EQ(plugin->check_payload(check)->kind, ETB_VERDICT_OPTIMAL);
  check.prefix = {"XXXX", 4};
  EXPECT_EQ(plugin->check_payload(check)->kind, ETB_VERDICT_UNSUPPORTED);
}

}  // namespace
}  // namespace etb::host
