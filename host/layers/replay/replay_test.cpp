// SPDX-License-Identifier: Apache-2.0
#include "host/layers/replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "host/layers/record/recorder.hpp"
#include "host/layers/start_plugin.hpp"
#include "host/testing/every_function.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host::replay {
namespace {

using ::testing::HasSubstr;

// A recording of every function of the toy plugin, and toys to replay it on.
class Replay : public ::testing::Test {
 protected:
  void record() {
    auto recorder = Recorder::open(dir_.path("a.etbt"));
    ASSERT_TRUE(recorder);
    LayerFixture fixture(std::vector<Layer>{(*recorder)->layer()});
    ASSERT_EQ(fixture.start(), ETB_OK);
    call_every_function(fixture);
    recorder->reset();
    open();
  }
  void open() {
    auto file = format::CallTraceFile::open(dir_.path("a.etbt"));
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(*std::move(file));
  }

  Report replay_on(const ToyPlugin& toy, Options options = {}) {
    options.start = [&](std::span<const etb_option> given, std::shared_ptr<PluginLife> life) {
      StartArgs args;
      args.options = given;
      return start_plugin(std::move(life), toy.plugin, args);
    };
    const format::CallTrace* const traces[] = {&file_->trace()};
    Result<Report> report = replay(traces, options);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *std::move(report) : Report{};
  }

  ScratchDir dir_;
  std::optional<format::CallTraceFile> file_;
};

TEST_F(Replay, OfTheSamePluginHasNoDifference) {
  record();
  ToyPlugin toy;
  const Report report = replay_on(toy);
  for (const Difference& difference : report.differences)
    ADD_FAILURE() << difference.function << ": " << difference.text;
  EXPECT_EQ(report.replayed_count, report.call_count);
  EXPECT_EQ(report.skipped_count, 0u);
  EXPECT_EQ(report.output_count, 2u);  // execute and execute_async
  EXPECT_EQ(report.equal_count, 2u);
  EXPECT_GE(report.times.at("delegate.execute").call_count, 1u);
}

// A worker of a plugin with asynchronous runs: it ends a run 20 ms after its start, or when it is cancelled.
struct Worker {
  static inline std::thread thread;
  static inline std::atomic<bool> is_cancelled{false}, is_cancellable{true};
  static inline std::atomic<bool> is_waited_for{true};  // the fence before the inputs

  static etb_status start(etb_context* context, const etb_exec_args* args, etb_error*) {
    is_cancelled = false;
    if (thread.joinable()) thread.join();
    thread = std::thread([context, args = *args] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      while (!is_waited_for) std::this_thread::yield();
      while (!is_cancelled && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      const etb_status status = is_cancelled && is_cancellable
                                    ? etb_status{ETB_CANCELLED}
                                    : toy_tables().delegate.execute(context, &args, nullptr);
      args.signal->signal(args.signal->handle, status);
    });
    return ETB_OK;
  }
  static etb_status cancel(etb_context*, etb_error*) {
    is_cancelled = true;
    return ETB_OK;
  }
  static void put_into(ToyPlugin& toy) {
    toy.delegate.execute_async = start;
    toy.delegate.cancel = cancel;
  }
};

// Asynchronous runs with events, with fences to wait for, and with a cancellation.
class ReplayAsync : public Replay {
 protected:
  void record_runs() {
    auto recorder = Recorder::open(dir_.path("a.etbt"));
    ASSERT_TRUE(recorder);
    LayerFixture fixture(std::vector<Layer>{(*recorder)->layer()});
    Worker::put_into(fixture.toy);
    Worker::is_cancellable = true;
    ASSERT_EQ(fixture.start(), ETB_OK);
    static std::atomic<int> event_count;
    event_count = 0;
    const etb_event_sink sink{sizeof(sink), 0, nullptr, [](void*, const etb_event*) -> etb_status {
                                ++event_count;
                                return ETB_OK;
                              }};
    etb_exec_args& args = fixture.run.args;
    args.events = &sink;
    run_once(fixture, false);
    EXPECT_EQ(event_count, 1) << "the host receives the plugin's events";
    args.events = nullptr;
    // The host writes the inputs after the start, as a fence allows.
    etb_fence wait{};
    wait.struct_size = sizeof(wait);
    wait.kind = "timeline";
    wait.fd = -1;
    args.wait = &wait;
    args.wait_count = 1;
    late_input_ = 7;
    run_once(fixture, false);
    args.wait_count = 0;
    run_once(fixture, true);
    Worker::thread.join();
    EXPECT_EQ(fixture.stop(), ETB_OK);
    recorder->reset();
    open();
  }

  void run_once(LayerFixture& fixture, bool is_cancelled) {
    std::atomic<int> ended{0};
    fixture.run.signal_by_call(
        [](void* handle, etb_status status) {
          *static_cast<std::atomic<int>*>(handle) = status == ETB_OK ? 1 : 2;
        },
        &ended);
    Worker::is_waited_for = late_input_ == 0;
    ASSERT_EQ(fixture.delegates().execute_async(fixture.context(), &fixture.run.args, nullptr), ETB_OK);
    if (late_input_ != 0) fixture.run.in[0] = late_input_;
    Worker::is_waited_for = true;
    if (is_cancelled) {
      ASSERT_EQ(fixture.delegates().cancel(fixture.context(), nullptr), ETB_OK);
    }
    while (ended == 0) std::this_thread::yield();
    EXPECT_EQ(ended, is_cancelled ? 2 : 1);
  }

  Report replay_on_worker(ToyPlugin& toy) {
    Worker::put_into(toy);
    Report report = replay_on(toy);
    if (Worker::thread.joinable()) Worker::thread.join();
    return report;
  }

  float late_input_ = 0;
};

TEST_F(ReplayAsync, RepeatsEventsFencesAndCancellations) {
  record_runs();
  std::vector<const format::TracedCallRecord*> runs;
  for (const format::TracedCallRecord& call : file_->trace().calls)
    if (call.begin.function == "delegate.execute_async") runs.push_back(&call);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0]->signals.at(0).events.size(), 1u);
  EXPECT_TRUE(runs[0]->signals.at(0).inputs.empty());
  ASSERT_EQ(runs[1]->signals.at(0).inputs.size(), 1u);
  const auto late = file_->trace().blob(runs[1]->signals.at(0).inputs[0].data);
  EXPECT_EQ(*reinterpret_cast<const float*>(late.data()), 7);
  EXPECT_EQ(runs[2]->signals.at(0).status, ETB_CANCELLED);
  ToyPlugin toy;
  const Report report = replay_on_worker(toy);
  for (const Difference& difference : report.differences)
    ADD_FAILURE() << difference.function << ": " << difference.text;
  EXPECT_EQ(report.skipped_count, 0u) << ::testing::PrintToString(report.notes);
  EXPECT_EQ(report.output_count, 2u);
  EXPECT_EQ(report.equal_count, 2u) << "the input that was written after the start, too";
  EXPECT_TRUE(report.notes.empty());
}

TEST_F(ReplayAsync, NotesACancellationThatComesTooLate) {
  record_runs();
  ToyPlugin toy;
  Worker::is_cancellable = false;
  const Report report = replay_on_worker(toy);
  EXPECT_TRUE(report.differences.empty());
  EXPECT_THAT(report.notes, ::testing::ElementsAre(HasSubstr("ended before it was cancelled here")));
}

TEST_F(ReplayAsync, FindsAnotherEndAndOtherOutputs) {
  record_runs();
  ToyPlugin toy;
  toy.delegate.cancel = Worker::cancel;
  toy.delegate.execute_async = [](etb_context* context, const etb_exec_args* args, etb_error*) -> etb_status {
    toy_tables().delegate.execute(context, args, nullptr);
    static_cast<float*>(args->outputs->data)[1] += 0.25F;
    args->signal->signal(args->signal->handle, args->events != nullptr ? ETB_INTERNAL : ETB_OK);
    return ETB_OK;
  };
  const Report report = replay_on(toy);
  ASSERT_EQ(report.differences.size(), 2u);
  EXPECT_EQ(report.differences[0].text, "of the fence: recorded ok; found internal error");
  EXPECT_THAT(report.differences[1].text, HasSubstr("output 0: 1 of 3 elements differ, at most 0.25"));
}

TEST_F(ReplayAsync, SkipsWhatThePluginCannotDo) {
  record_runs();
  ToyPlugin toy;
  toy.delegate.caps &= ~ETB_DELEGATE_CAP_CANCEL;
  toy.delegate.cancel = nullptr;
  toy.delegate.execute_async = Worker::start;
  const Report report = replay_on(toy);
  if (Worker::thread.joinable()) Worker::thread.join();
  EXPECT_TRUE(report.differences.empty());
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("it was cancelled, and the plugin cannot cancel")));
  EXPECT_EQ(report.skipped_count, 2u) << "the run and the call of cancel";
}

TEST_F(Replay, FindsAnOutputThatDiffers) {
  record();
  ToyPlugin toy;
  toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) -> etb_status {
    const etb_status status = toy_tables().delegate.execute(context, args, error);
    static_cast<float*>(args->outputs->data)[1] += 0.25F;
    return status;
  };
  const Report report = replay_on(toy);
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(report.differences[0].kind, DifferenceKind::OUTPUT);
  EXPECT_EQ(report.differences[0].function, "delegate.execute");
  EXPECT_EQ(report.differences[0].object, "context 1");
  EXPECT_EQ(report.differences[0].text,
            "output 0: 1 of 3 elements differ, at most 0.25 (0.0625 relative), first at 1: 4.25, expected 4");
  Options tolerant;
  tolerant.rtol = 0.1;
  EXPECT_TRUE(replay_on(toy, tolerant).differences.empty());
  Options ignoring;
  ignoring.ignored = {DifferenceKind::OUTPUT};
  const Report ignored = replay_on(toy, ignoring);
  EXPECT_TRUE(ignored.differences.empty());
  EXPECT_EQ(ignored.ignored_count, 1u);
}

TEST_F(Replay, FindsOtherStatusesClaimsPayloadsVerdictsAndRows) {
  record();
  ToyPlugin toy;
  toy.plugin.set_option = [](etb_plugin*, uint32_t, void*, const etb_option*,
                             etb_error* error) -> etb_status {
    std::snprintf(error->text, sizeof error->text, "fixed");
    return ETB_INVALID_STATE;
  };
  toy.aot.partition = [](etb_plugin*, const etb_partition_args*, const etb_partition_sink* sink,
                         etb_error*) -> etb_status {
    const uint32_t ids[2] = {0, 1};
    const etb_claim claim{sizeof(etb_claim), 0, ids, 2, 0, 0};
    return sink->claim(sink->ctx, &claim);
  };
  toy.delegate.check_payload = [](etb_plugin*, const etb_payload_check*, etb_verdict* verdict,
                                  etb_error*) -> etb_status {
    verdict->kind = ETB_VERDICT_UNSUPPORTED;
    return ETB_OK;
  };
  toy.aot.op_table = [](etb_plugin*, const etb_op_sink*, etb_error*) -> etb_status { return ETB_OK; };
  std::map<DifferenceKind, std::string> found;
  for (const Difference& difference : replay_on(toy).differences) found[difference.kind] = difference.text;
  EXPECT_EQ(found[DifferenceKind::STATUS], "recorded ok; found call not allowed in this state: fixed");
  EXPECT_EQ(found[DifferenceKind::CLAIM], "node 1: recorded 'rejected: op', found 'claimed, flags 0'");

  EXPECT_THAT(found[DifferenceKind::OPS], HasSubstr("op aten.add.Tensor: recorded"));
}

TEST_F(Replay, GoesOnWithoutAnObjectThatCannotBeMade) {
  record();
  ToyPlugin toy;
  toy.delegate.create = [](etb_plugin*, const etb_delegate_args*, etb_delegate**, etb_error*) -> etb_status {
    return ETB_OUT_OF_MEMORY;
  };
  const Report report = replay_on(toy);
  ASSERT_EQ(report.differences.size(), 1u);
  EXPECT_EQ(report.differences[0].text, "recorded ok; found out of memory");
  EXPECT_GT(report.skipped_count, 4u);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("context 1 does not exist here")));
}

TEST_F(Replay, SkipsTablesThatThePluginLacks) {
  record();
  ToyPlugin toy;
  toy.ident.profiles = ETB_PROFILE_RUNTIME;
  toy.plugin.aot = nullptr;
  const Report report = replay_on(toy);
  EXPECT_TRUE(report.differences.empty());
  EXPECT_EQ(report.skipped_count, 6u);
  EXPECT_THAT(report.notes, ::testing::Contains(HasSubstr("aot.compile: the plugin has no such table")));
}

// Every byte of the file is damaged in turn, with a digest that fits: the plugin sees only what fits its structs.
TEST_F(Replay, AHostileTraceNeverReachesThePluginUnchecked) {
  record();
  std::ifstream in(dir_.path("a.etbt"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  size_t replayed = 0;
  for (size_t at = 16; at + 16 <= bytes.size();) {
    uint64_t nbytes = 0;
    std::memcpy(&nbytes, bytes.data() + at + 8, 8);
    for (uint64_t i = 0; i < nbytes; i += 7) {
      std::string damaged = bytes;
      damaged[at + 16 + i] = static_cast<char>(damaged[at + 16 + i] ^ (i % 2 == 0 ? 0xff : 0x01));
      const auto digest =
          format::sha256({reinterpret_cast<const uint8_t*>(damaged.data()) + at + 16, nbytes});
      std::memcpy(damaged.data() + at + 4, digest.data(), 4);
      const auto trace = format::read_call_trace(std::as_bytes(std::span(damaged)));
      if (!trace) continue;
      ++replayed;
      ToyPlugin toy;
      Options options;
      options.start = [&](std::span<const etb_option> given, std::shared_ptr<PluginLife> life) {
        StartArgs args;
        args.options = given;
        return start_plugin(std::move(life), toy.plugin, args);
      };
      const format::CallTrace* const traces[] = {&*trace};
      (void)replay(traces, options);
    }
    at += 16 + (nbytes + 15) / 16 * 16;
  }
  EXPECT_GT(replayed, 50u);
}

}  // namespace
}  // namespace etb::host::replay
