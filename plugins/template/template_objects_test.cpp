// SPDX-License-Identifier: Apache-2.0
// Tests of the objects of both template plugins: lives, options, devices, payloads, threads, events.
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
#include "etb/ext/draft/values.h"
#include "plugins/template/template_fixture.hpp"

namespace template_plugins {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TemplateObjects : public Template {};

INSTANTIATE_TEST_SUITE_P(Flavours, TemplateObjects, flavours(),
                         [](const auto& flavour) { return flavour.param.name; });

// proves: ABI-LIFE-01 ABI-OWN-04
TEST_P(TemplateObjects, EarlyDestroyIsBusyAndChangesNothing) {
  make_ready();
  EXPECT_EQ(table_->deinit(plugin_, &error_), ETB_BUSY);
  EXPECT_EQ(table_->delegate->destroy(delegate_, &error_), ETB_BUSY);
  TestTensor left({1}, {1}), right({1}, {10}), sum({1}, {0});
  EXPECT_EQ(execute(left, right, sum), ETB_OK) << error_.text;
}

// proves: ABI-OWN-03 ABI-OWN-05
TEST_P(TemplateObjects, PayloadIsReleasedOnceAndUnchanged) {
  BorrowedPayload payload(good_payload());
  ASSERT_EQ(create(payload), ETB_OK) << error_.text;
  EXPECT_EQ(payload.release_count, 1);
  EXPECT_EQ(payload.words, good_payload());
}

// proves: ABI-OPT-01
TEST_P(TemplateObjects, OptionsAreCheckedAndHaveEffect) {
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
TEST_P(TemplateObjects, SinksGetTheSchemaAndTheDevicesAndMayStop) {
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

TEST_P(TemplateObjects, DeviceIsOpenedByUuidAndCountsItsDelegates) {
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

TEST_P(TemplateObjects, QueryAndIoRequirementsAgree) {
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

TEST_P(TemplateObjects, VerdictComesFromTheFirstBytes) {
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
TEST_P(TemplateObjects, DamagedPayloadsAreRefused) {
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
TEST_P(TemplateObjects, DelegatesAndContextsAreMadeAndRunOnManyThreads) {
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
TEST_P(TemplateObjects, NothingBorrowedForACallIsReadLater) {
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
TEST_P(TemplateObjects, EventsAreMadeOnlyWithASinkAndOnTheHostsClock) {
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

// Receives events and values, as a host that records values does.
struct SeenValues {
  explicit SeenValues(uint32_t wanted) : wants(wanted) {
    sink.events.struct_size = ETB_INIT_SIZE(etb_value_sink);
    sink.events.ctx = this;
    sink.events.put = [](void*, const etb_event*) { return ETB_OK + 0; };
    sink.id = ETB_VALUE_SINK_ID;
    sink.wants = [](void* ctx, const char*, int64_t) { return static_cast<SeenValues*>(ctx)->wants; };
    sink.put_value = [](void* ctx, const etb_inner_value* value) {
      auto& out = *static_cast<SeenValues*>(ctx);
      out.names.emplace_back(value->name);
      const etb_tensor& tensor = *value->tensors;
      out.floats.assign(static_cast<const float*>(tensor.data),
                        static_cast<const float*>(tensor.data) + tensor.sizes[0]);
      return ETB_OK + 0;
    };
  }
  uint32_t wants;
  etb_value_sink sink{};
  std::vector<std::string> names;
  std::vector<float> floats;
};

TEST_P(TemplateObjects, TheSumBeforeItSaturatesIsReportedToAHostThatRecordsValues) {
  make_ready({f64_option("limit", 5)});
  TestTensor left({2}, {1, 2}), right({2}, {10, -1}), sum({2}, {0, 0});
  SeenValues none(0), all(1);
  ASSERT_EQ(execute(left, right, sum, &none.sink.events), ETB_OK) << error_.text;
  EXPECT_THAT(none.names, testing::IsEmpty());
  ASSERT_EQ(execute(left, right, sum, &all.sink.events), ETB_OK) << error_.text;
  ASSERT_EQ(all.names.size(), 1u);
  EXPECT_THAT(all.names[0], HasSubstr(".add"));
  EXPECT_THAT(all.floats, testing::ElementsAre(11, 1));
  EXPECT_THAT(sum.data, testing::ElementsAre(5, 1, 12345));
}

}  // namespace
}  // namespace template_plugins
