// SPDX-License-Identifier: Apache-2.0
// Asynchronous runs of one context: their ends are recorded when the plugin signals a fence of kind "callback". Ends of
// other kinds, which reach the host without the layer, are not recorded. Inputs of a run that waits for fences are
// recorded at its end, as they are complete only then.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "host/layers/record/captures.hpp"

namespace etb::host::record {

// True if the run writes an output over a part of an input.
inline bool shares_memory(const etb_exec_args& args) {
  const auto begin = [](const etb_tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.data); };
  for (uint32_t o = 0; o < args.output_count; ++o)
    for (uint32_t i = 0; i < args.input_count; ++i) {
      const etb_tensor &output = *ETB_AT(etb_tensor, args.outputs, o), &input = *ETB_AT(etb_tensor, args.inputs, i);
      if (output.data != nullptr && input.data != nullptr && begin(output) < begin(input) + input.capacity_bytes &&
          begin(input) < begin(output) + output.capacity_bytes)
        return true;
    }
  return false;
}

class AsyncRun {
 public:
  AsyncRun(const etb_exec_args& args, uint64_t number, CallTraceWriter& writer)
      : args_(copy_struct(args)),
        number_(number),
        writer_(writer),
        tee_(args.events, [this](const auto* item) { events_.push_back(to_trace(*item)); }),
        values_(args.events == nullptr ? nullptr : tee_.get(), args.events),
        fences_(args.signal_count),
        own_(args.signal_count) {
    for (uint32_t i = 0; i < args.signal_count; ++i) {
      const etb_fence fence = copy_struct(*ETB_AT(etb_fence, args.signal, i));
      own_[i] = fence;
      own_[i].struct_size = sizeof(etb_fence);
      if (fence.signal == nullptr) continue;
      fences_[i] = {this, fence};
      own_[i].handle = &fences_[i];
      own_[i].signal = [](void* handle, etb_status status) {
        const Fence copy =
            *static_cast<Fence*>(handle);  // `handle` may be freed as soon as the host knows the end
        copy.run->note_end(status);
        copy.to.signal(copy.to.handle, status);
      };
    }
  }
  AsyncRun(const AsyncRun&) = delete;
  AsyncRun& operator=(const AsyncRun&) = delete;

  // Replaces what the plugin reports to by this run's own.
  void attach(etb_exec_args& args) const {
    args.signal = own_.data();
    args.events = values_.get();
  }

 private:
  struct Fence {
    AsyncRun* run = nullptr;
    etb_fence to{};
  };

  void note_end(etb_status status) {
    if (is_noted_.exchange(true)) return;
    format::TraceSignal signal;
    signal.number = number_;
    signal.end_ns = now_ns();
    signal.status = status;
    if (status == ETB_OK) signal.outputs = to_trace(args_.outputs, args_.output_count, true, writer_);
    signal.events = std::move(events_);
    if (args_.wait_count != 0 && !shares_memory(args_))
      signal.inputs = to_trace(args_.inputs, args_.input_count, true, writer_);
    writer_.add(TraceRecordKind::SIGNAL, signal);
  }

  etb_exec_args args_;
  uint64_t number_;
  CallTraceWriter& writer_;
  std::atomic<bool> is_noted_{false};
  std::vector<format::TraceEvent> events_;
  TeeSink<etb_event_sink> tee_;
  ValuesThrough values_;
  std::vector<Fence> fences_;
  std::vector<etb_fence> own_;
};

// A context has one run at a time; the last one is kept until the next begins or the context ends.
class AsyncRuns {
 public:
  AsyncRun& begin(const etb_exec_args& args, uint64_t number, CallTraceWriter& writer) {
    last_ = std::make_unique<AsyncRun>(args, number, writer);
    return *last_;
  }

 private:
  std::unique_ptr<AsyncRun> last_;
};

template <>
struct Capture<calls::ExecuteAsync> {
  Capture(Recorder& recorder, calls::ExecuteAsync& call, TraceBegin& begin) : args(copy_struct(*call.args)) {
    args.struct_size = sizeof(args);
    note_run(args, recorder.writer(), begin);
    call.args = &args;
  }
  // The plugin's fences are the run's, whose owner is the context.
  void start(AsyncRuns& runs, Recorder& recorder, const TraceBegin& begin) {
    runs.begin(args, begin.number, recorder.writer()).attach(args);
  }
  void finish(TraceEnd&, etb_status) {}
  etb_exec_args args;
};

}  // namespace etb::host::record
