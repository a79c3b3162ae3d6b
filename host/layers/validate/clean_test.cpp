// SPDX-License-Identifier: Apache-2.0
// Test against false alarms: a correct plugin and a correct host cause no report, in every call path and
// mode.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "etb/cpp/sink.hpp"
#include "host/testing/layer_fixture.hpp"
#include "host/testing/report_matcher.hpp"

namespace etb::host {
namespace {

class CleanPlugin : public ::testing::TestWithParam<std::tuple<bool, ValidateOptions::Memory, bool>> {
 protected:
  static ValidateOptions options() {
    ValidateOptions result;
    std::tie(result.strict, result.memory, result.whole_process) = GetParam();
    return result;
  }

  ~CleanPlugin() override {
    fixture_.stop();
    for (const Violation& violation : fixture_.found()) ADD_FAILURE() << format_violation(violation);
  }

  LayerFixture fixture_{options()};
};

template <class Sink>
Sink counting_sink(int& count) {
  static thread_local int* counted;
  counted = &count;
  static auto put = [](const auto&) -> etb_status {
    ++*counted;
    return ETB_OK;
  };
  return sink_to<Sink>(put);
}

TEST_P(CleanPlugin, Options) {
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = "gain";
  option.type = ETB_OPTION_F64;
  option.f64 = 2;
  ASSERT_EQ(fixture_.start({&option, 1}), ETB_OK) << fixture_.error.text;
  const etb_plugin_table& table = fixture_.table();
  int count = 0;
  const auto schemas = counting_sink<etb_option_schema_sink>(count);
  EXPECT_EQ(table.option_schema(fixture_.plugin, &schemas, fixture_.fresh_error()), ETB_OK);
  const auto values = counting_sink<etb_option_sink>(count);
  EXPECT_EQ(table.get_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, "gain", &values, nullptr),
            ETB_OK);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(table.get_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, "pain", &values,
                             fixture_.fresh_error()),
            ETB_NOT_FOUND);
  EXPECT_STREQ(fixture_.error.text, "unknown option 'pain'") << "the plugin's text reaches the host";
  EXPECT_EQ(table.set_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, &option, nullptr), ETB_OK);
  option.key = "colour";
  EXPECT_EQ(
      table.set_option(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, &option, fixture_.fresh_error()),
      ETB_NOT_FOUND);
  EXPECT_EQ(table.get_extension(fixture_.plugin, ETB_OBJECT_PLUGIN, fixture_.plugin, "x/1"), nullptr);
}

TEST_P(CleanPlugin, RefusedInit) {
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = "colour";
  option.type = ETB_OPTION_I64;
  EXPECT_EQ(fixture_.start({&option, 1}), ETB_INVALID_ARGUMENT);
  EXPECT_STREQ(fixture_.error.text, "unknown option 'colour'");
  option.key = "x-unknown";
  EXPECT_EQ(fixture_.start({&option, 1}), ETB_OK);
}

TEST_P(CleanPlugin, Devices) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  const etb_device_table& table = *fixture_.table().device;
  uint8_t uuid[16] = {};
  auto put = [&](const etb_device_info& info) -> etb_status {
    std::memcpy(uuid, info.uuid, 16);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_device_sink>(put);
  ASSERT_EQ(table.enumerate(fixture_.plugin, &sink, fixture_.fresh_error()), ETB_OK);
  auto stop = [](const etb_device_info&) -> etb_status { return ETB_CANCELLED; };
  const auto stopping = sink_to<etb_device_sink>(stop);
  EXPECT_EQ(table.enumerate(fixture_.plugin, &stopping, fixture_.fresh_error()), ETB_CANCELLED)
      << "the sink's status, without a text, is the plugin's right answer";
  etb_device* device = nullptr;
  ASSERT_EQ(table.open(fixture_.plugin, uuid, nullptr, 0, &device, nullptr), ETB_OK);
  EXPECT_EQ(table.query(device, &sink, nullptr), ETB_OK);
  fixture_.delegate_args.device = device;
  etb_delegate* delegate = nullptr;
  ASSERT_EQ(fixture_.create(&delegate), ETB_OK) << fixture_.error.text;
  EXPECT_EQ(fixture_.delegates().destroy(delegate, nullptr), ETB_OK);
  EXPECT_EQ(table.close(device, nullptr), ETB_OK);
  std::memset(uuid, 0, 16);
  EXPECT_EQ(table.open(fixture_.plugin, uuid, nullptr, 0, &device, fixture_.fresh_error()), ETB_NOT_FOUND);
}

TEST_P(CleanPlugin, Delegates) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  etb_payload_check check{};
  check.struct_size = sizeof(check);
  check.backend_id = kToyBackend;
  check.prefix = {"TOY1", 4};
  etb_verdict verdict{};
  verdict.struct_size = sizeof(verdict);
  ASSERT_EQ(fixture_.delegates().check_payload(fixture_.plugin, &check, &verdict, nullptr), ETB_OK);
  EXPECT_EQ(verdict.kind, ETB_VERDICT_OPTIMAL);
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(fixture_.delegates().query(fixture_.delegate(), &info, nullptr), ETB_OK);
  EXPECT_EQ(info.input_count, 1u);
  int count = 0;
  const auto reqs = counting_sink<etb_io_req_sink>(count);
  ASSERT_EQ(fixture_.delegates().query_io(fixture_.delegate(), &reqs, nullptr), ETB_OK);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(fixture_.execute(), ETB_OK) << fixture_.error.text;

  alignas(16) static const char kBad[16] = "nonsense";
  fixture_.payload.data = kBad;
  etb_delegate* none = nullptr;
  EXPECT_EQ(fixture_.create(&none), ETB_INVALID_DATA);
  EXPECT_EQ(none, nullptr);
}

TEST_P(CleanPlugin, Runs) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  ASSERT_EQ(fixture_.delegates().context_reserve(fixture_.context(), &fixture_.run.input, 1, nullptr),
            ETB_OK);
  std::vector<std::string> names;
  auto put = [&](const etb_event& event) -> etb_status {
    names.push_back(event.name);
    return ETB_OK;
  };
  const auto events = sink_to<etb_event_sink>(put);
  fixture_.run.args.events = &events;
  std::vector<uint8_t> scratch(100);
  fixture_.run.args.scratch = scratch.data();
  fixture_.run.args.scratch_nbytes = scratch.size();
  for (int i = 0; i < 20; ++i) {
    fixture_.run.in_sizes[0] = 1 + i % 3;
    ASSERT_EQ(fixture_.execute(), ETB_OK) << fixture_.error.text;
    EXPECT_EQ(fixture_.run.out_sizes[0], fixture_.run.in_sizes[0]) << "a size that depends on the run";
    EXPECT_EQ(fixture_.run.out[0], 2.0f);
    fixture_.run.out_sizes[0] = 3;
  }
  EXPECT_EQ(names.size(), 20u);
  const etb_cancel_token cancel{sizeof(cancel), 0, nullptr, [](void*) -> uint32_t { return 1; }};
  fixture_.run.args.cancel = &cancel;
  EXPECT_EQ(fixture_.execute(), ETB_CANCELLED);
  EXPECT_EQ(fixture_.delegates().cancel(fixture_.context(), nullptr), ETB_OK);
  fixture_.run.input.dtype = ETB_DTYPE_INT32;
  fixture_.run.args.cancel = nullptr;
  EXPECT_EQ(fixture_.execute(), ETB_INVALID_ARGUMENT) << "an answer, not a violation";
}

TEST_P(CleanPlugin, AsynchronousRuns) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  etb_status done = -1;
  fixture_.run.signal_by_call(
      [](void* handle, etb_status status) { *static_cast<etb_status*>(handle) = status; }, &done);
  for (int i = 0; i < 3; ++i) {
    done = -1;
    ASSERT_EQ(
        fixture_.delegates().execute_async(fixture_.context(), &fixture_.run.args, fixture_.fresh_error()),
        ETB_OK)
        << fixture_.error.text;
    EXPECT_EQ(done, ETB_OK);
  }
  fixture_.run.args.signal_count = 0;
  EXPECT_EQ(fixture_.execute(), ETB_OK) << "the context is free again";
  fixture_.run.fence.kind = "sync-fd";
  fixture_.run.args.signal_count = 1;
  EXPECT_EQ(
      fixture_.delegates().execute_async(fixture_.context(), &fixture_.run.args, fixture_.fresh_error()),
      ETB_NOT_SUPPORTED);
}

// proves: ABI-THREAD-01
TEST_P(CleanPlugin, ManyContextsAtOnce) {
  if (std::get<2>(GetParam())) GTEST_SKIP() << "whole_process is for hosts that start no threads";
  ASSERT_EQ(fixture_.start(), ETB_OK);
  etb_delegate* const delegate = fixture_.delegate();
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        etb_context* context = nullptr;
        ToyRun run;
        etb_delegate_info info{};
        info.struct_size = sizeof(info);
        const etb_delegate_table& table = fixture_.delegates();
        if (table.query(delegate, &info, nullptr) != ETB_OK) ++failures;
        if (table.context_create(delegate, nullptr, 0, &context, nullptr) != ETB_OK) ++failures;
        if (table.execute(context, &run.args, nullptr) != ETB_OK || run.out[0] != 2.0f) ++failures;
        if (table.context_destroy(context, nullptr) != ETB_OK) ++failures;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_P(CleanPlugin, AheadOfTime) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  const etb_aot_table& table = *fixture_.table().aot;
  int count = 0;
  const auto ops = counting_sink<etb_op_sink>(count);
  EXPECT_EQ(table.op_table(fixture_.plugin, &ops, nullptr), ETB_OK);
  auto take_name = [&](const char&) -> etb_status {
    ++count;
    return ETB_OK;
  };
  const auto names = sink_to<etb_text_sink>(take_name);
  EXPECT_EQ(table.preserve_ops(fixture_.plugin, &names, nullptr), ETB_OK);
  EXPECT_EQ(count, 2);

  const etb_graph_image image = fixture_.image().to_c();
  etb_partition_args args{};
  args.struct_size = sizeof(args);
  args.graph = &image;
  args.backend_id = kToyBackend;
  std::string answers;
  etb_partition_sink sink{sizeof(sink), 0, &answers,
                          [](void* ctx, const etb_claim*) -> etb_status {
                            *static_cast<std::string*>(ctx) += "claim ";
                            return ETB_OK;
                          },
                          [](void* ctx, const etb_reject* reject) -> etb_status {
                            *static_cast<std::string*>(ctx) += reject->reason;
                            return ETB_OK;
                          }};
  EXPECT_EQ(table.partition(fixture_.plugin, &args, &sink, fixture_.fresh_error()), ETB_OK)
      << fixture_.error.text;
  EXPECT_EQ(answers, "claim op");
  EXPECT_EQ(table.dry_check(fixture_.plugin, &args, nullptr), ETB_OK);
  etb_estimate estimate{};
  estimate.struct_size = sizeof(estimate);
  EXPECT_EQ(table.estimate(fixture_.plugin, &args, &estimate, nullptr), ETB_OK);
  EXPECT_EQ(estimate.latency_ns, 10.0);
}

TEST_P(CleanPlugin, Compilation) {
  ASSERT_EQ(fixture_.start(), ETB_OK);
  const etb_graph_image images[2] = {fixture_.image().to_c(), fixture_.image().to_c()};
  std::string written;
  static const etb_blob_writer kWriter{
      sizeof(etb_blob_writer), 0, nullptr,
      [](void*, uint64_t, const void*, uint64_t) -> etb_status { return ETB_OK; }};
  etb_artifact_sink sink{sizeof(sink),
                         0,
                         &written,
                         [](void* ctx, uint32_t index, const etb_blob_writer** out) -> etb_status {
                           *static_cast<std::string*>(ctx) += "begin " + std::to_string(index) + " ";
                           *out = &kWriter;
                           return ETB_OK;
                         },
                         [](void*, const etb_named_blob*) -> etb_status { return ETB_OK; },
                         [](void* ctx, const etb_artifact*) -> etb_status {
                           *static_cast<std::string*>(ctx) += "end ";
                           return ETB_OK;
                         }};
  const etb_progress progress{sizeof(progress), 0, nullptr, [](void*, double, const char*) {}};
  etb_compile_args args{};
  args.struct_size = sizeof(args);
  args.backend_id = kToyBackend;
  args.graphs = images;
  args.graph_count = 2;
  args.sink = &sink;
  args.progress = &progress;
  ASSERT_EQ(fixture_.table().aot->compile(fixture_.plugin, &args, fixture_.fresh_error()), ETB_OK)
      << fixture_.error.text;
  EXPECT_EQ(written, "begin 0 end begin 1 end ");
}

INSTANTIATE_TEST_SUITE_P(AllModes, CleanPlugin,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(kCanaries, kGuardPages),
                                            ::testing::Bool()),
                         [](const auto& row) {
                           return std::string(std::get<0>(row.param) ? "Strict" : "Lenient") +
                                  (std::get<1>(row.param) == kCanaries ? "Canaries" : "GuardPages") +
                                  (std::get<2>(row.param) ? "WholeProcess" : "");
                         });

}  // namespace
}  // namespace etb::host
