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
#include "etb/static_plugins.h"
#include "plugins/template/borrowed_payload.hpp"

extern "C" {
ETB_DECLARE_STATIC_PLUGIN(my_npu);
ETB_DECLARE_STATIC_PLUGIN(my_npu_c);
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Flavour {
  const char* name;
  etb_plugin_query_fn query;
  uint32_t magic;
  const char* id;
};

const void* ETB_CALL no_service(const etb_host*, const char*) { return nullptr; }
constexpr etb_host kBareHost = {
    ETB_INIT_SIZE(etb_host), 0, ETB_ABI_VERSION, 0, "test", "0.0.0", "", nullptr, no_service, nullptr};

etb_option f64_option(const char* key, double value) {
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

INSTANTIATE_TEST_SUITE_P(
    Flavours, Template,
    testing::Values(Flavour{"cpp", etb_plugin_query_my_npu, 0x504e594d, "com.example.my-npu"},
                    Flavour{"c", etb_plugin_query_my_npu_c, 0x504e594d, "com.example.my-npu-c"}),
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

// proves: ABI-LIFE-01 ABI-OWN-04
TEST_P(Template, EarlyDestroyIsBusyAndChangesNothing) {
  make_ready();
  EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_BUSY);
  EXPECT_EQ(table_->delegate->destroy(delegate_, &error_), ETB_BUSY);
  TestTensor left({1}, {1}), right({1}, {10}), sum({1}, {0});
  EXPECT_EQ(execute(left, right, sum), ETB_OK) << error_.text;
}

// proves: ABI-OWN-03 ABI-OWN-05
TEST_P(Template, PayloadIsReleasedOnceAndUnchanged) {
  BorrowedPayload payload(good_payload());
  ASSERT_EQ(create(payload), ETB_OK) << error_.text;
  EXPECT_EQ(payload.release_count, 1);
  EXPECT_EQ(payload.words, good_payload());
}

// proves: ABI-OPT-01
TEST_P(Template, OptionsAreCheckedAndHaveEffect) {
  BorrowedPayload payload(good_payload());
  EXPECT_EQ(create(payload, {f64_option("no-such-option", 1)}), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("no-such-option"));
  EXPECT_EQ(create(payload, {f64_option("limit", -1)}), ETB_INVALID_ARGUMENT);
  EXPECT_EQ(create(payload, {f64_option("limit", std::nan(""))}), ETB_INVALID_ARGUMENT);
  etb_option wrong_type = f64_option("limit", 1);
  wrong_type.type = ETB_OPTION_I64;
  EXPECT_EQ(create(payload, {wrong_type}), ETB_INVALID_ARGUMENT);
  const etb_option at_run = f64_option("limit", 1);
  etb_plugin* other = nullptr;
  EXPECT_EQ(table_->init(&kBareHost, &at_run, 1, &other, &error_), ETB_INVALID_ARGUMENT) << "wrong scope";

  make_ready({f64_option("x-vendor.unknown", 1), f64_option("limit", 25)});
  TestTensor left({3}, {1, -30, 3}), right({3}, {10, -20, 30}), sum({3}, {0, 0, 0});
  ASSERT_EQ(execute(left, right, sum), ETB_OK) << error_.text;
  EXPECT_THAT(sum.data, ElementsAre(11, -25, 25, 12345));
}

// proves: ABI-SINK-02 ABI-SINK-01
TEST_P(Template, SinksGetTheSchemaAndTheDevicesAndMayStop) {
  struct Seen {
    std::vector<std::string> names;
    etb_status answer = ETB_OK;
  } seen;
  const etb_option_schema_sink schemas = {ETB_INIT_SIZE(etb_option_schema_sink), 0, &seen,
                                          [](void* ctx, const etb_option_schema* schema) {
                                            static_cast<Seen*>(ctx)->names.push_back(schema->key);
                                            return static_cast<Seen*>(ctx)->answer;
                                          }};
  EXPECT_EQ(table_->option_schema(plugin_, &schemas, &error_), ETB_OK);
  const etb_device_sink devices = {ETB_INIT_SIZE(etb_device_sink), 0, &seen,
                                   [](void* ctx, const etb_device_info* info) {
                                     static_cast<Seen*>(ctx)->names.push_back(info->kind);
                                     return static_cast<Seen*>(ctx)->answer;
                                   }};
  EXPECT_EQ(table_->device->enumerate(plugin_, &devices, &error_), ETB_OK);
  EXPECT_THAT(seen.names, ElementsAre("limit", "cpu"));
  seen.answer = ETB_CANCELLED;
  EXPECT_EQ(table_->option_schema(plugin_, &schemas, &error_), ETB_CANCELLED);
  EXPECT_EQ(table_->device->enumerate(plugin_, &devices, &error_), ETB_CANCELLED);
}

TEST_P(Template, DeviceIsOpenedByUuidAndCountsItsDelegates) {
  struct Uuid {
    uint8_t bytes[16];
  } uuid{};
  const etb_device_sink devices = {ETB_INIT_SIZE(etb_device_sink), 0, &uuid,
                                   [](void* ctx, const etb_device_info* info) {
                                     std::memcpy(static_cast<Uuid*>(ctx)->bytes, info->uuid, 16);
                                     return ETB_OK + 0;
                                   }};
  ASSERT_EQ(table_->device->enumerate(plugin_, &devices, &error_), ETB_OK);
  etb_device* device = nullptr;
  const uint8_t unknown[16] = {9};
  EXPECT_EQ(table_->device->open(plugin_, unknown, nullptr, 0, &device, &error_), ETB_NOT_FOUND);
  ASSERT_EQ(table_->device->open(plugin_, uuid.bytes, nullptr, 0, &device, &error_), ETB_OK);

  BorrowedPayload payload(good_payload());
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.device = device;
  args.payload = &payload.view;
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(table_->delegate->create(plugin_, &args, &delegate, &error_), ETB_OK) << error_.text;
  EXPECT_EQ(table_->device->close(device, &error_), ETB_BUSY);
  EXPECT_EQ(table_->delegate->destroy(delegate, &error_), ETB_OK);
  EXPECT_EQ(table_->device->close(device, &error_), ETB_OK);
}

TEST_P(Template, QueryAndIoRequirementsAgree) {
  make_ready();
  etb_delegate_info info{};
  info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
  ASSERT_EQ(table_->delegate->query(delegate_, &info, &error_), ETB_OK);
  EXPECT_EQ(info.input_count, 2u);
  EXPECT_EQ(info.output_count, 1u);
  EXPECT_EQ(info.max_contexts, ETB_UNLIMITED);
  std::vector<uint32_t> roles;
  const etb_io_req_sink sink = {
      ETB_INIT_SIZE(etb_io_req_sink), 0, &roles, [](void* ctx, const etb_io_req* req) {
        static_cast<std::vector<uint32_t>*>(ctx)->push_back(req->role * 10 + req->index);
        return ETB_OK + 0;
      }};
  ASSERT_EQ(table_->delegate->query_io(delegate_, &sink, &error_), ETB_OK);
  EXPECT_THAT(roles, ElementsAre(10, 11, 20));
}

TEST_P(Template, VerdictComesFromTheFirstBytes) {
  const auto verdict_of = [&](const std::vector<uint32_t>& words) {
    etb_payload_check check{};
    check.struct_size = ETB_INIT_SIZE(etb_payload_check);
    check.prefix = {words.data(), words.size() * sizeof(uint32_t)};
    check.payload_nbytes = 20;
    etb_verdict verdict{};
    verdict.struct_size = ETB_INIT_SIZE(etb_verdict);
    EXPECT_EQ(table_->delegate->check_payload(plugin_, &check, &verdict, &error_), ETB_OK) << error_.text;
    return verdict;
  };
  EXPECT_EQ(verdict_of(good_payload()).kind, ETB_VERDICT_OPTIMAL);
  EXPECT_EQ(verdict_of({GetParam().magic, 2}).reasons, ETB_REASON_FORMAT);
  EXPECT_EQ(verdict_of({1, 1}).reasons, ETB_REASON_CORRUPT);
  EXPECT_EQ(verdict_of({}).kind, ETB_VERDICT_UNSUPPORTED);
}

// proves: ABI-BLOB-01
TEST_P(Template, DamagedPayloadsAreRefused) {
  const auto answer_to = [&](std::vector<uint32_t> words) {
    BorrowedPayload payload(std::move(words));
    const etb_status status = create(payload);
    if (status == ETB_OK) {
      EXPECT_EQ(table_->delegate->destroy(std::exchange(delegate_, nullptr), &error_), ETB_OK);
    }
    return status;
  };
  const uint32_t magic = GetParam().magic;
  EXPECT_EQ(answer_to({}), ETB_INVALID_DATA);
  EXPECT_EQ(answer_to({magic}), GetParam().name == std::string("c") ? ETB_INVALID_DATA : ETB_INCOMPATIBLE);
  EXPECT_EQ(answer_to({magic, 1, 2, 0}), ETB_INVALID_DATA);
  EXPECT_EQ(answer_to({magic, 1, 2, 0, 1, 0}), ETB_INVALID_DATA);
  EXPECT_EQ(answer_to({magic, 2, 2, 0, 1}), ETB_INCOMPATIBLE);
  EXPECT_EQ(answer_to({magic, 1, 2, 0, 2}), ETB_INVALID_DATA);
  EXPECT_EQ(answer_to({magic, 1, 0xffffffff, 0, 0xfffffffe}), ETB_INVALID_DATA);
  EXPECT_EQ(answer_to({magic, 1, 1, 0, 0}), ETB_OK) << "x + x";

  const uint32_t seed = 20240607;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint32_t> words = good_payload();
    words[random() % words.size()] ^= 1u << random() % 32;
    if (random() % 4 == 0) words.resize(random() % 8);
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    answer_to(words);
  }
}

const void* ETB_CALL clock_only(const etb_host*, const char* id) {
  static const etb_clock_service clock = {ETB_INIT_SIZE(etb_clock_service), 0, nullptr, [](void*) {
                                            static uint64_t now_ns = 1000;
                                            return now_ns += 5;
                                          }};
  return std::string_view(id) == ETB_SERVICE_CLOCK ? &clock : nullptr;
}

// proves: ABI-THREAD-01
TEST_P(Template, DelegatesAndContextsAreMadeAndRunOnManyThreads) {
  make_ready();
  std::atomic<int> failure_count{0};
  const auto work = [&] {
    for (int round = 0; round < 50; ++round) {
      etb_error error = ETB_ERROR_INIT;
      BorrowedPayload payload(good_payload());
      etb_delegate_args args{};
      args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
      args.payload = &payload.view;
      etb_delegate* own = nullptr;
      failure_count += table_->delegate->create(plugin_, &args, &own, &error) != ETB_OK;
      for (etb_delegate* delegate : {own, delegate_}) {
        etb_context* context = nullptr;
        failure_count += table_->delegate->context_create(delegate, nullptr, 0, &context, &error) != ETB_OK;
        TestTensor left({2}, {1, 2}), right({2}, {3, 4}), sum({2}, {0, 0});
        const etb_tensor inputs[] = {left.view(ETB_ROLE_INPUT), right.view(ETB_ROLE_INPUT)};
        etb_tensor outputs[] = {sum.view(ETB_ROLE_OUTPUT)};
        etb_exec_args call{};
        call.struct_size = ETB_INIT_SIZE(etb_exec_args);
        call.inputs = inputs;
        call.outputs = outputs;
        call.input_count = 2;
        call.output_count = 1;
        failure_count += table_->delegate->execute(context, &call, &error) != ETB_OK;
        failure_count += sum.data[1] != 6;
        failure_count += table_->delegate->context_destroy(context, &error) != ETB_OK;
      }
      failure_count += table_->delegate->destroy(own, &error) != ETB_OK;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failure_count, 0);
}

// proves: ABI-OWN-01
TEST_P(Template, NothingBorrowedForACallIsReadLater) {
  {
    BorrowedPayload payload(good_payload());
    std::string key = "limit";
    ASSERT_EQ(create(payload, {f64_option(key.c_str(), 25)}), ETB_OK) << error_.text;
    std::fill(payload.words.begin(), payload.words.end(), 0xffffffff);  // released by the plugin
    key = "gone!";
  }
  ASSERT_EQ(table_->delegate->context_create(delegate_, nullptr, 0, &context_, &error_), ETB_OK);
  for (int round = 0; round < 2; ++round) {  // other memory each time; the sanitizers watch the old
    auto left = std::make_unique<TestTensor>(std::vector<int64_t>{1}, std::vector<float>{20});
    auto right = std::make_unique<TestTensor>(std::vector<int64_t>{1}, std::vector<float>{20});
    auto sum = std::make_unique<TestTensor>(std::vector<int64_t>{1}, std::vector<float>{0});
    ASSERT_EQ(execute(*left, *right, *sum), ETB_OK) << error_.text;
    EXPECT_EQ(sum->data[0], 25);
  }
}

// proves: ABI-PROF-01 ABI-PROF-02 ABI-HOST-01
TEST_P(Template, EventsAreMadeOnlyWithASinkAndOnTheHostsClock) {
  ASSERT_EQ(table_->deinit(plugin_, &error_), ETB_OK);
  plugin_ = nullptr;
  static etb_host host = kBareHost;
  host.get_service = clock_only;
  ASSERT_EQ(table_->init(&host, nullptr, 0, &plugin_, &error_), ETB_OK);
  make_ready();
  TestTensor left({1}, {1}), right({1}, {10}), sum({1}, {0});
  ASSERT_EQ(execute(left, right, sum), ETB_OK);

  struct Seen {
    int count = 0;
    uint64_t begin = 0, end = 0;
    std::string name;
  } seen;
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, &seen,
                               [](void* ctx, const etb_event* event) {
                                 auto& out = *static_cast<Seen*>(ctx);
                                 out = {out.count + 1, event->begin_ticks, event->end_ticks, event->name};
                                 return ETB_OK + 0;
                               }};
  const auto* clock = static_cast<const etb_clock_service*>(clock_only(nullptr, ETB_SERVICE_CLOCK));
  const uint64_t before = clock->now_ns(nullptr);
  ASSERT_EQ(execute(left, right, sum, &sink), ETB_OK) << error_.text;
  const uint64_t after = clock->now_ns(nullptr);
  EXPECT_EQ(seen.count, 1);
  EXPECT_THAT(seen.name, HasSubstr(".add"));
  EXPECT_LE(before, seen.begin);
  EXPECT_LE(seen.begin, seen.end);
  EXPECT_LE(seen.end, after);
}

}  // namespace
