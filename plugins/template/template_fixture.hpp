// SPDX-License-Identifier: Apache-2.0
// Fixture of the tests of both template plugins: a plugin, one delegate, one context, through the tables only.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "etb/static_plugins.h"
#include "plugins/template/borrowed_payload.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(my_npu);
ETB_DECLARE_STATIC_PLUGIN(my_npu_c);
}

namespace template_plugins {

struct Flavour {
  const char* name;
  etb_plugin_query_fn query;
  uint32_t magic;
  const char* id;
};

inline const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }
inline constexpr etb_host kBareHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0.0.0", "", nullptr, no_service, nullptr};

inline etb_option f64_option(const char* key, double value) {
  return {ETB_INIT_SIZE(etb_option),
          0,
          key,
          ETB_OPTION_F64,
          0,
          0,
          value,
          nullptr,
          {nullptr, 0},
          nullptr,
          nullptr};
}

class Template : public testing::TestWithParam<Flavour> {
 protected:
  void SetUp() override {
    table_ = GetParam().query(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION);
    ASSERT_NE(table_, nullptr);
    ASSERT_EQ(table_->init(&kBareHost, nullptr, 0, &plugin_, &error_), ETB_OK) << error_.text;
  }
  void TearDown() override {
    if (context_ != nullptr) {
      EXPECT_EQ(table_->delegate->context_destroy(context_, &error_), ETB_OK);
    }
    if (delegate_ != nullptr) {
      EXPECT_EQ(table_->delegate->destroy(delegate_, &error_), ETB_OK);
    }
    if (plugin_ != nullptr) {
      EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_OK) << error_.text;
    }
  }

  std::vector<uint32_t> good_payload() const { return {GetParam().magic, 1, 2, 0, 1}; }

  etb_status create(BorrowedPayload& payload, const std::vector<etb_option>& options = {}) {
    etb_delegate_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.backend_id = "MyNpuBackend";
    args.method_name = "forward";
    args.payload = &payload.view;
    args.options = options.data();
    args.option_count = options.size();
    return table_->delegate->create(plugin_, &args, &delegate_, &error_);
  }
  void make_ready(const std::vector<etb_option>& options = {}) {
    BorrowedPayload payload(good_payload());
    ASSERT_EQ(create(payload, options), ETB_OK) << error_.text;
    ASSERT_EQ(table_->delegate->context_create(delegate_, nullptr, 0, &context_, &error_), ETB_OK)
        << error_.text;
  }
  etb_status execute(TestTensor& left, TestTensor& right, TestTensor& sum,
                     const etb_event_sink* events = nullptr) {
    const etb_tensor inputs[] = {left.view(ETB_ROLE_INPUT), right.view(ETB_ROLE_INPUT)};
    etb_tensor outputs[] = {sum.view(ETB_ROLE_OUTPUT)};
    etb_exec_args args{};
    args.struct_size = ETB_INIT_SIZE(etb_exec_args);
    args.inputs = inputs;
    args.outputs = outputs;
    args.input_count = 2;
    args.output_count = 1;
    args.events = events;
    return table_->delegate->execute(context_, &args, &error_);
  }

  const etb_plugin_table* table_ = nullptr;
  etb_plugin* plugin_ = nullptr;
  etb_delegate* delegate_ = nullptr;
  etb_context* context_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
};

// The flavours of the template, for INSTANTIATE_TEST_SUITE_P.
inline auto flavours() {
  return testing::Values(Flavour{"cpp", etb_plugin_query_my_npu, 0x504e594d, "com.example.my-npu"},
                         Flavour{"c", etb_plugin_query_my_npu_c, 0x504e594d, "com.example.my-npu-c"});
}

}  // namespace template_plugins
