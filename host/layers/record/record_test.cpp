// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/format/call_trace_reader.hpp"
#include "host/layers/record/recorder.hpp"
#include "host/testing/every_function.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {
namespace {

using format::CallTraceFile;
using format::TracedCallRecord;

const TracedCallRecord& find(const format::CallTrace& trace, const std::string& function) {
  for (const TracedCallRecord& call : trace.calls)
    if (call.begin.function == function) return call;
  ADD_FAILURE() << function << " is not in the trace";
  static const TracedCallRecord kNone;
  return kNone;
}

// The layer on either side of the validate layer, which reports nothing.
TEST(Recorder, RecordsEveryFunction) {
  for (const bool is_outside : {true, false}) {
    const ScratchDir dir;
    auto recorder = Recorder::open(dir.path("all.etbt"));
    ASSERT_TRUE(recorder) << recorder.error().message;
    ValidateOptions options;
    options.strict = true;
    Validation validation(options);
    std::vector<Layer> layers{(*recorder)->layer(), validation.layer()};
    if (!is_outside) std::swap(layers[0], layers[1]);
    LayerFixture fixture(layers);
    ASSERT_EQ(fixture.start(), ETB_OK) << fixture.error.text;
    call_every_function(fixture);
    for (const Violation& violation : validation.take()) ADD_FAILURE() << format_violation(violation);
    ASSERT_TRUE((*recorder)->status());
    const auto file = CallTraceFile::open(dir.path("all.etbt"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->trace().notes.empty());
#define ETB_REQUIRED(table, function) find(file->trace(), #table "." #function);
#define ETB_OPTIONAL(table, function, cap) \
  if (std::string(#function) != "get_extension") find(file->trace(), #table "." #function);
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
  }
}

TEST(Recorder, RecordsArgumentsAndAnswers) {
  const ScratchDir dir;
  auto recorder = Recorder::open(dir.path("all.etbt"), {.command = "a test"});
  ASSERT_TRUE(recorder);
  LayerFixture fixture(std::vector<Layer>{(*recorder)->layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  call_every_function(fixture);
  const auto file = CallTraceFile::open(dir.path("all.etbt"));
  ASSERT_TRUE(file) << file.error().message;
  const format::CallTrace& trace = file->trace();
  EXPECT_EQ(trace.source.command, "a test");
  EXPECT_EQ(find(trace, "plugin.init").begin.plugin_id, "org.etbackend.toy");
  EXPECT_EQ(find(trace, "plugin.option_schema").end.schemas.at(0).key, "gain");
  EXPECT_EQ(find(trace, "plugin.set_option").begin.options.at(0).f64, 3);
  EXPECT_EQ(find(trace, "plugin.get_option").end.options.at(0).f64, 3);
  EXPECT_EQ(find(trace, "device.enumerate").end.devices.at(0).name, "toy");
  EXPECT_EQ(find(trace, "device.open").begin.uuid[0], 7);
  const TracedCallRecord& create = find(trace, "delegate.create");
  EXPECT_EQ(create.begin.target_number, 1u);
  EXPECT_EQ(create.begin.backend_id, kToyBackend);
  EXPECT_EQ(trace.blob(create.begin.payload).size(), 16u);
  EXPECT_EQ(create.end.made_number, 1u);
  EXPECT_EQ(find(trace, "delegate.query").end.info.at(0), 1u);
  EXPECT_EQ(find(trace, "delegate.query_io").end.io_reqs.size(), 2u);
  const TracedCallRecord& execute = find(trace, "delegate.execute");
  ASSERT_EQ(execute.begin.inputs.size(), 1u);
  EXPECT_EQ(trace.blob(execute.begin.inputs[0].data).size(), 12u);
  ASSERT_EQ(execute.end.outputs.size(), 1u);
  const auto* out = reinterpret_cast<const float*>(trace.blob(execute.end.outputs[0].data).data());
  EXPECT_EQ(out[0], 4);  // 1 and the gain
  EXPECT_EQ(find(trace, "aot.op_table").end.ops.at(0).op, "aten.add.Tensor");
  EXPECT_EQ(find(trace, "aot.preserve_ops").end.texts.at(0), "aten.gelu.default");
  EXPECT_EQ(find(trace, "aot.partition").end.claims.size(), 2u);
  EXPECT_EQ(find(trace, "aot.estimate").end.estimate.at(0), 10);
}

TEST(Recorder, RecordsFailuresWithTheirTexts) {
  const ScratchDir dir;
  auto recorder = Recorder::open(dir.path("a.etbt"));
  ASSERT_TRUE(recorder);
  LayerFixture fixture(std::vector<Layer>{(*recorder)->layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  fixture.run.input.dtype = ETB_DTYPE_INT32;
  ASSERT_EQ(fixture.delegates().execute(fixture.context(), &fixture.run.args, nullptr), ETB_INVALID_ARGUMENT);
  fixture.stop();
  const auto file = CallTraceFile::open(dir.path("a.etbt"));
  ASSERT_TRUE(file);
  const TracedCallRecord& call = find(file->trace(), "delegate.execute");
  EXPECT_EQ(call.end.status, ETB_INVALID_ARGUMENT);
  EXPECT_EQ(call.end.text, "dtypes 3 and 6, expected float");
  EXPECT_TRUE(call.end.outputs.empty());
}

// The end of an asynchronous run, which the plugin signals on another thread.
TEST(Recorder, RecordsTheEndOfAsynchronousRuns) {
  const ScratchDir dir;
  auto recorder = Recorder::open(dir.path("a.etbt"));
  ASSERT_TRUE(recorder);
  LayerFixture fixture(std::vector<Layer>{(*recorder)->layer()});
  static std::thread worker;
  fixture.toy.delegate.execute_async = [](etb_context* context, const etb_exec_args* args,
                                          etb_error*) -> etb_status {
    worker = std::thread([context, args = *args] {
      const etb_status status = toy_tables().delegate.execute(context, &args, nullptr);
      args.signal->signal(args.signal->handle, status);
    });
    return ETB_OK;
  };
  ASSERT_EQ(fixture.start(), ETB_OK);
  std::atomic<int> ended{0};
  fixture.run.signal_by_call(
      [](void* handle, etb_status status) {
        *static_cast<std::atomic<int>*>(handle) = status == ETB_OK ? 1 : 2;
      },
      &ended);
  ASSERT_EQ(fixture.delegates().execute_async(fixture.context(), &fixture.run.args, nullptr), ETB_OK);
  worker.join();
  EXPECT_EQ(ended, 1);
  fixture.stop();
  const auto file = CallTraceFile::open(dir.path("a.etbt"));
  ASSERT_TRUE(file) << file.error().message;
  const TracedCallRecord& call = find(file->trace(), "delegate.execute_async");
  ASSERT_EQ(call.signals.size(), 1u);
  ASSERT_EQ(call.signals[0].outputs.size(), 1u);
  EXPECT_EQ(file->trace().blob(call.signals[0].outputs[0].data).size(), 12u);
}

TEST(Recorder, TwoThreadsRecordTheirCalls) {
  const ScratchDir dir;
  auto recorder = Recorder::open(dir.path("a.etbt"));
  ASSERT_TRUE(recorder);
  LayerFixture fixture(std::vector<Layer>{(*recorder)->layer()});
  ASSERT_EQ(fixture.start(), ETB_OK);
  etb_context* contexts[2] = {};
  for (etb_context*& context : contexts)
    ASSERT_EQ(fixture.delegates().context_create(fixture.delegate(), nullptr, 0, &context, nullptr), ETB_OK);
  constexpr int kRuns = 50;
  const auto work = [&](etb_context* context) {
    ToyRun run;
    for (int i = 0; i < kRuns; ++i)
      if (fixture.delegates().execute(context, &run.args, nullptr) != ETB_OK) ADD_FAILURE();
  };
  std::thread other(work, contexts[0]);
  work(contexts[1]);
  other.join();
  for (etb_context* context : contexts) fixture.delegates().context_destroy(context, nullptr);
  fixture.stop();
  const auto file = CallTraceFile::open(dir.path("a.etbt"));
  ASSERT_TRUE(file) << file.error().message;
  int by_thread[3] = {};
  for (const TracedCallRecord& call : file->trace().calls)
    if (call.begin.function == "delegate.execute" && call.has_end && call.begin.thread <= 2)
      ++by_thread[call.begin.thread];
  EXPECT_EQ(by_thread[1], kRuns);
  EXPECT_EQ(by_thread[2], kRuns);
}

}  // namespace
}  // namespace etb::host
