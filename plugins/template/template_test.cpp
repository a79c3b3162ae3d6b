// SPDX-License-Identifier: Apache-2.0
// Tests both template plugins through their tables only: a vendor's starting point must keep the rules of the
// ABI. The plugins are linked in (etb/static_plugins.h), so no host code is involved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "etb/cpp/result.hpp"
#include "plugins/template/template_fixture.hpp"

namespace template_plugins {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Flavours, Template, flavours(),
                         [](const auto& flavour) { return flavour.param.name; });

// proves: ABI-SYM-02 ABI-VER-02
TEST_P(Template, QueryNegotiatesTheVersionAndNothingElse) {
  const auto query = GetParam().query;
  EXPECT_EQ(query(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_MAKE(1, 0))->abi_version, ETB_ABI_MAKE(1, 0));
  EXPECT_EQ(query(nullptr, ETB_ABI_MAKE(1, 0), ETB_ABI_MAKE(1, 9))->abi_version, ETB_ABI_VERSION);
  EXPECT_EQ(query(&kBareHost, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION),
            query(nullptr, ETB_ABI_MAKE(1, 0), ETB_ABI_VERSION));
  EXPECT_EQ(query(&kBareHost, ETB_ABI_MAKE(2, 0), ETB_ABI_MAKE(2, 3)), nullptr);
  EXPECT_EQ(query(&kBareHost, ETB_ABI_MAKE(0, 1), ETB_ABI_MAKE(0, 9)), nullptr);
  EXPECT_EQ(query(&kBareHost, ETB_ABI_MAKE(1, 7), ETB_ABI_MAKE(1, 9)), nullptr);
}

TEST_P(Template, IdentNamesTheFlavour) {
  EXPECT_STREQ(table_->ident->id, GetParam().id);
  EXPECT_EQ(table_->ident->profiles, ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT);
}

// proves: ABI-CALL-01 ABI-CALL-02
TEST_P(Template, HasEveryRequiredFunctionAndAFunctionForEachCapability) {
  EXPECT_TRUE(table_->init && table_->deinit && table_->device && table_->delegate && table_->aot);
  EXPECT_EQ((table_->caps & ETB_PLUGIN_CAP_OPTION_SCHEMA) != 0, table_->option_schema != nullptr);
  EXPECT_EQ((table_->caps & ETB_PLUGIN_CAP_SET_OPTION) != 0, table_->set_option != nullptr);
  EXPECT_EQ((table_->caps & ETB_PLUGIN_CAP_GET_EXTENSION) != 0, table_->get_extension != nullptr);
  const etb_delegate_table& delegate = *table_->delegate;
  EXPECT_TRUE(delegate.check_payload && delegate.create && delegate.destroy && delegate.query &&
              delegate.query_io && delegate.context_create && delegate.context_destroy && delegate.execute);
  EXPECT_EQ((delegate.caps & ETB_DELEGATE_CAP_CONTEXT_RESERVE) != 0, delegate.context_reserve != nullptr);
  EXPECT_EQ((delegate.caps & ETB_DELEGATE_CAP_CANCEL) != 0, delegate.cancel != nullptr);
  EXPECT_TRUE(table_->aot->op_table && table_->aot->partition && table_->aot->compile);
}

TEST_P(Template, AddsAndKeepsWithinItsOutput) {
  make_ready();
  TestTensor left({2, 2}, {1, 2, 3, 4}), right({2, 2}, {10, 20, 30, 40}), sum({2, 2}, {0, 0, 0, 0});
  ASSERT_EQ(execute(left, right, sum), ETB_OK) << error_.text;
  EXPECT_THAT(sum.data, ElementsAre(11, 22, 33, 44, 12345));
}

// proves: ABI-TENSOR-02
TEST_P(Template, DynamicOutputGetsFinalSizesWithinItsBound) {
  make_ready();
  TestTensor left({2}, {1, 2}), right({2}, {10, 20}), sum({3}, {0, 0, 0});
  sum.upper = {3};
  ASSERT_EQ(execute(left, right, sum), ETB_OK) << error_.text;
  EXPECT_THAT(sum.sizes, ElementsAre(2));
  EXPECT_THAT(sum.data, ElementsAre(11, 22, 0, 12345));

  TestTensor small({1}, {0});
  small.upper = {1};
  EXPECT_EQ(execute(left, right, small), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(small.data, ElementsAre(0, 12345));
}

// proves: ABI-TENSOR-01 ABI-EXEC-01 ABI-ERR-01
TEST_P(Template, TensorsThatItDoesNotUnderstandAreRefusedAndTheContextStaysUsable) {
  make_ready();
  TestTensor left({2, 2}, {1, 2, 3, 4}), right({2, 2}, {10, 20, 30, 40}), sum({2, 2}, {0, 0, 0, 0});
  right.strides = {1, 2};
  EXPECT_EQ(execute(left, right, sum), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(error_.code, ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("contiguous"));
  right.strides.clear();
  right.sizes = {4, 1};
  EXPECT_EQ(execute(left, right, sum), ETB_INVALID_ARGUMENT);
  right.sizes = {2, 2};

  etb_tensor inputs[] = {left.view(ETB_ROLE_INPUT), right.view(ETB_ROLE_INPUT)};
  etb_tensor outputs[] = {sum.view(ETB_ROLE_OUTPUT)};
  etb_exec_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_exec_args);
  args.inputs = inputs;
  args.outputs = outputs;
  args.input_count = 2;
  args.output_count = 1;
  const auto run = [&] { return table_->delegate->execute(context_, &args, &error_); };
  inputs[0].dtype = ETB_DTYPE_INT32;
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("dtype"));
  inputs[0].dtype = ETB_DTYPE_FLOAT32;
  inputs[1].rank = ETB_MAX_RANK + 1;
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT);
  inputs[1].rank = 2;
  const uint8_t transposed[] = {1, 0};
  inputs[0].dim_order = transposed;
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT);
  inputs[0].dim_order = nullptr;
  outputs[0].capacity_bytes = 12;
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT);
  outputs[0].capacity_bytes = 16;
  const etb_buffer_desc elsewhere = {
      ETB_INIT_SIZE(etb_buffer_desc), 0, "dma-buf", nullptr, -1, 1, 0, 16, nullptr, nullptr};
  inputs[0].buffer = &elsewhere;
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT);
  inputs[0].buffer = nullptr;
  args.input_count = 1;
  EXPECT_EQ(run(), ETB_INVALID_ARGUMENT);
  args.input_count = 2;
  ASSERT_EQ(run(), ETB_OK) << error_.text;
  EXPECT_THAT(sum.data, ElementsAre(11, 22, 33, 44, 12345));
}

// proves: ABI-SIZE-02 ABI-SIZE-04 ABI-TYPE-02
TEST_P(Template, LongerStructsOfANewerHostAreReadByTheirOwnStride) {
  make_ready();
  struct NewerTensor {
    etb_tensor now;
    uint64_t later[3];
  };
  TestTensor left({1}, {1}), right({1}, {10}), sum({1}, {0});
  NewerTensor inputs[] = {{left.view(ETB_ROLE_INPUT), {7, 7, 7}}, {right.view(ETB_ROLE_INPUT), {7, 7, 7}}};
  NewerTensor outputs[] = {{sum.view(ETB_ROLE_OUTPUT), {7, 7, 7}}};
  for (NewerTensor& tensor : inputs) tensor.now.struct_size = ETB_INIT_SIZE(NewerTensor);
  outputs[0].now.struct_size = ETB_INIT_SIZE(NewerTensor);
  struct NewerArgs {
    etb_exec_args now;
    uint64_t later[3];
  } args{};
  args.now.struct_size = ETB_INIT_SIZE(NewerArgs);
  args.now.inputs = &inputs[0].now;
  args.now.outputs = &outputs[0].now;
  args.now.input_count = 2;
  args.now.output_count = 1;
  ASSERT_EQ(table_->delegate->execute(context_, &args.now, &error_), ETB_OK) << error_.text;
  EXPECT_THAT(sum.data, ElementsAre(11, 12345));

  args.now.struct_size = ETB_INIT_SIZE(etb_exec_args) - 1;
  EXPECT_EQ(table_->delegate->execute(context_, &args.now, &error_), ETB_INVALID_ARGUMENT);
  args.now.struct_size = ETB_INIT_SIZE(NewerArgs);
  args.now.flags = 0x80;
  EXPECT_EQ(table_->delegate->execute(context_, &args.now, &error_), ETB_INVALID_ARGUMENT);
}

// proves: ABI-SIZE-03
TEST_P(Template, WritesNothingBeyondTheSizeThatTheCallerSet) {
  make_ready();
  struct {
    etb_delegate_info info;
    uint8_t behind[16];
  } mine{};
  std::memset(mine.behind, 0x5a, sizeof(mine.behind));
  mine.info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
  ASSERT_EQ(table_->delegate->query(delegate_, &mine.info, &error_), ETB_OK);
  EXPECT_EQ(mine.info.struct_size, sizeof(etb_delegate_info));
  EXPECT_THAT(mine.behind, testing::Each(0x5a));

  etb_delegate_info short_info{};
  short_info.struct_size = 8;
  etb_error short_error = ETB_ERROR_INIT;
  short_error.struct_size = 8;
  EXPECT_EQ(table_->delegate->query(delegate_, &short_info, &short_error), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(short_info.input_count, 0u);
  EXPECT_EQ(short_error.code, 0);
  EXPECT_STREQ(short_error.text, "");
}

}  // namespace
}  // namespace template_plugins
