// SPDX-License-Identifier: Apache-2.0
// The recorded facts of each function: a Capture<Call> notes the arguments, replaces sinks and readers by ones that pass
// on and note their items, and notes the answers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "etb/cpp/guard.hpp"
#include "etb/cpp/sink.hpp"
#include "host/layers/record/recorder.hpp"
#include "host/layers/record/to_trace.hpp"
#include "host/layers/values_through.hpp"
#include "host/services/clock.hpp"

namespace etb::host::record {

using format::CallTraceWriter;
using format::TraceBegin;
using format::TraceEnd;
using format::TraceRecordKind;

// A sink that passes items on and calls `keep` for each. An item that is NULL or too small is passed on alone.
template <class Sink>
class TeeSink {
 public:
  using Item = typename etb::detail::SinkItem<decltype(Sink::put)>::type;
  using Keep = std::function<void(const Item*)>;

  TeeSink(const Sink* to, Keep keep) : to_(to), keep_(std::move(keep)) {
    sink_.struct_size = sizeof(Sink);
    sink_.ctx = this;
    sink_.put = [](void* ctx, const Item* item) -> etb_status {
      auto& self = *static_cast<TeeSink*>(ctx);
      if (is_whole(item)) self.keep_(item);
      return self.to_->put(self.to_->ctx, item);
    };
  }
  TeeSink(const TeeSink&) = delete;
  TeeSink& operator=(const TeeSink&) = delete;
  const Sink* get() const { return &sink_; }

 private:
  static bool is_whole(const Item* item) {
    if constexpr (std::is_same_v<Item, char>)
      return item != nullptr;
    else
      return item != nullptr && item->struct_size >= sizeof(Item);
  }

  const Sink* to_;
  Keep keep_;
  Sink sink_{};
};

// Reads of named data by a plugin, from create until destroy, on any thread.
class NamedDataReader {
 public:
  NamedDataReader(const etb_named_data& from, uint64_t call_number, CallTraceWriter& writer)
      : from_(copy_struct(from)), number_(call_number), writer_(writer) {
    own_ = {sizeof(own_), 0, this,
            [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
              return static_cast<NamedDataReader*>(ctx)->get(key, out, error);
            }};
  }
  NamedDataReader(const NamedDataReader&) = delete;
  NamedDataReader& operator=(const NamedDataReader&) = delete;
  const etb_named_data* own() const { return &own_; }

 private:
  etb_status get(const char* key, etb_payload_view* out, etb_error* error) {
    const etb_status status = from_.get(from_.ctx, key, out, error);
    if (key == nullptr) return status;
    format::TraceRead read{number_, key, status, 0, 0};
    if (status == ETB_OK && out != nullptr) read.data = store(*out, writer_);
    writer_.add(TraceRecordKind::READ, read);
    return status;
  }

  etb_named_data from_, own_;
  uint64_t number_;
  CallTraceWriter& writer_;
};

// ---- calls without more arguments than their object

template <class Call>
struct Capture {
  Capture(Recorder&, Call&, TraceBegin&) {}
  void finish(TraceEnd&, etb_status) {}
};

// ---- plugin

template <>
struct Capture<calls::Init> {
  Capture(Recorder&, calls::Init& call, TraceBegin& begin) {
    begin.plugin_id = call.ident->id;
    begin.plugin_version = call.ident->version;
    begin.plugin_build = call.ident->build_id;
    begin.host_flags = call.host->flags;
    begin.options = to_trace(call.options, call.option_count);
  }
  void finish(TraceEnd&, etb_status) {}
};

template <>
struct Capture<calls::OptionSchema> {
  Capture(Recorder&, calls::OptionSchema& call, TraceBegin&)
      : tee(call.sink, [this](const auto* item) { schemas.push_back(to_trace(*item)); }) {
    call.sink = tee.get();
  }
  void finish(TraceEnd& end, etb_status) { end.schemas = std::move(schemas); }
  std::vector<format::TraceSchema> schemas;
  TeeSink<etb_option_schema_sink> tee;
};

template <>
struct Capture<calls::SetOption> {
  Capture(Recorder&, calls::SetOption& call, TraceBegin& begin) {
    begin.target_kind = static_cast<uint32_t>(call.kind);
    begin.target_number = call.number;
    begin.options.push_back(to_trace(*call.option));
  }
  void finish(TraceEnd&, etb_status) {}
};

template <>
struct Capture<calls::GetOption> {
  Capture(Recorder&, calls::GetOption& call, TraceBegin& begin)
      : tee(call.sink, [this](const auto* item) { options.push_back(to_trace(*item)); }) {
    begin.target_kind = static_cast<uint32_t>(call.kind);
    begin.target_number = call.number;
    begin.key = text_of(call.key);
    call.sink = tee.get();
  }
  void finish(TraceEnd& end, etb_status) { end.options = std::move(options); }
  std::vector<format::TraceOption> options;
  TeeSink<etb_option_sink> tee;
};

// ---- device

struct DeviceCapture {
  DeviceCapture(const etb_device_sink*& sink)
      : tee(sink, [this](const auto* item) { devices.push_back(to_trace(*item)); }) {
    sink = tee.get();
  }
  void finish(TraceEnd& end, etb_status) { end.devices = std::move(devices); }
  std::vector<format::TraceDevice> devices;
  TeeSink<etb_device_sink> tee;
};

template <>
struct Capture<calls::Enumerate> : DeviceCapture {
  Capture(Recorder&, calls::Enumerate& call, TraceBegin&) : DeviceCapture(call.sink) {}
};
template <>
struct Capture<calls::QueryDevice> : DeviceCapture {
  Capture(Recorder&, calls::QueryDevice& call, TraceBegin&) : DeviceCapture(call.sink) {}
};

template <>
struct Capture<calls::Open> {
  Capture(Recorder&, calls::Open& call, TraceBegin& begin) {
    std::copy_n(call.uuid, begin.uuid.size(), begin.uuid.begin());
    begin.options = to_trace(call.options, call.option_count);
  }
  void finish(TraceEnd&, etb_status) {}
};

// ---- delegate

template <>
struct Capture<calls::CheckPayload> {
  Capture(Recorder& recorder, calls::CheckPayload& call, TraceBegin& begin) : verdict(call.verdict) {
    const etb_payload_check& check = *call.check;
    begin.backend_id = text_of(check.backend_id);
    begin.target = to_trace(check.target);
    begin.payload = recorder.writer().add_blob(bytes_of(check.prefix.data, check.prefix.nbytes));
    begin.payload_nbytes = check.payload_nbytes;
    begin.specs = to_trace(check.specs, check.spec_count);
  }
  void finish(TraceEnd& end, etb_status status) {
    if (status != ETB_OK) return;
    end.verdict = verdict->kind;
    end.verdict_reasons = verdict->reasons;
    end.verdict_text.assign(verdict->text, strnlen(verdict->text, sizeof(verdict->text)));
  }
  etb_verdict* verdict;
};

template <>
struct Capture<calls::Create> {
  Capture(Recorder& recorder, calls::Create& call, TraceBegin& begin) : args(copy_struct(*call.args)) {
    args.struct_size = sizeof(args);
    begin.backend_id = text_of(args.backend_id);
    begin.method_name = text_of(args.method_name);
    begin.target_kind = call.device_number != 0 ? ETB_OBJECT_DEVICE : 0;
    begin.target_number = call.device_number;
    if (args.payload != nullptr) {
      begin.payload = store(*args.payload, recorder.writer());
      begin.payload_nbytes = args.payload->nbytes;
    }
    begin.has_named_data = args.named_data != nullptr ? 1 : 0;
    begin.specs = to_trace(args.specs, args.spec_count);
    begin.options = to_trace(args.options, args.option_count);
    if (args.named_data != nullptr) {
      named_data = std::make_shared<NamedDataReader>(*args.named_data, begin.number, recorder.writer());
      args.named_data = named_data->own();
    }
    call.args = &args;
  }
  void finish(TraceEnd&, etb_status) {}
  etb_delegate_args args;
  std::shared_ptr<NamedDataReader> named_data;
};

template <>
struct Capture<calls::QueryDelegate> {
  Capture(Recorder&, calls::QueryDelegate& call, TraceBegin&) : info(call.info) {}
  void finish(TraceEnd& end, etb_status status) {
    if (status != ETB_OK) return;
    end.info = {info->input_count,   info->output_count,  info->max_contexts,     info->resident_bytes,
                info->context_bytes, info->scratch_bytes, info->scratch_alignment};
  }
  etb_delegate_info* info;
};

template <>
struct Capture<calls::QueryIo> {
  Capture(Recorder&, calls::QueryIo& call, TraceBegin&)
      : tee(call.sink, [this](const auto* item) { reqs.push_back(to_trace(*item)); }) {
    call.sink = tee.get();
  }
  void finish(TraceEnd& end, etb_status) { end.io_reqs = std::move(reqs); }
  std::vector<format::TraceIoReq> reqs;
  TeeSink<etb_io_req_sink> tee;
};

template <>
struct Capture<calls::ContextCreate> {
  Capture(Recorder&, calls::ContextCreate& call, TraceBegin& begin) {
    begin.options = to_trace(call.options, call.option_count);
  }
  void finish(TraceEnd&, etb_status) {}
};

template <>
struct Capture<calls::ContextReserve> {
  Capture(Recorder& recorder, calls::ContextReserve& call, TraceBegin& begin) {
    begin.inputs = to_trace(call.inputs, call.input_count, false, recorder.writer());
  }
  void finish(TraceEnd&, etb_status) {}
};

// Notes the arguments of execute and execute_async. Inputs have their bytes, unless the run must wait for them.
inline void note_run(const etb_exec_args& args, CallTraceWriter& writer, TraceBegin& begin) {
  begin.inputs = to_trace(args.inputs, args.input_count, args.wait_count == 0, writer);
  begin.outputs = to_trace(args.outputs, args.output_count, false, writer);
  for (uint32_t o = 0; o < begin.outputs.size(); ++o)
    for (uint32_t i = 0; i < begin.inputs.size(); ++i) {
      const void* const data = ETB_AT(etb_tensor, args.outputs, o)->data;
      if (data != nullptr && data == ETB_AT(etb_tensor, args.inputs, i)->data)
        begin.outputs[o].shared_input = i + 1;
    }
  begin.scratch_nbytes = args.scratch_nbytes;
  if (args.deadline_ns != 0)
    begin.deadline_after_ns = args.deadline_ns > begin.begin_ns ? args.deadline_ns - begin.begin_ns : 1;
  begin.has_cancel = args.cancel != nullptr ? 1 : 0;
  begin.has_events = args.events != nullptr ? 1 : 0;
  begin.options = to_trace(args.options, args.option_count);
  begin.wait_kinds = fence_kinds(args.wait, args.wait_count);
  begin.signal_kinds = fence_kinds(args.signal, args.signal_count);
  begin.run_id = args.run_id;
  begin.priority = args.priority;
}

template <>
struct Capture<calls::Execute> {
  Capture(Recorder& recorder, calls::Execute& call, TraceBegin& begin)
      : writer(recorder.writer()),
        args(copy_struct(*call.args)),
        tee(args.events, [this](const auto* item) { events.push_back(to_trace(*item)); }),
        values(args.events == nullptr ? nullptr : tee.get(), args.events) {
    args.struct_size = sizeof(args);
    note_run(args, writer, begin);
    args.events = values.get();
    call.args = &args;
  }
  void finish(TraceEnd& end, etb_status status) {
    end.events = std::move(events);
    if (status == ETB_OK) end.outputs = to_trace(args.outputs, args.output_count, true, writer);
  }
  CallTraceWriter& writer;
  etb_exec_args args;
  std::vector<format::TraceEvent> events;
  TeeSink<etb_event_sink> tee;
  ValuesThrough values;
};

// ---- ahead of time

template <>
struct Capture<calls::OpTable> {
  Capture(Recorder&, calls::OpTable& call, TraceBegin&)
      : tee(call.sink, [this](const auto* item) { rows.push_back(to_trace(*item)); }) {
    call.sink = tee.get();
  }
  void finish(TraceEnd& end, etb_status) { end.ops = std::move(rows); }
  std::vector<format::TraceOpRow> rows;
  TeeSink<etb_op_sink> tee;
};

template <>
struct Capture<calls::PreserveOps> {
  Capture(Recorder&, calls::PreserveOps& call, TraceBegin&)
      : tee(call.sink, [this](const char* item) { texts.emplace_back(item); }) {
    call.sink = tee.get();
  }
  void finish(TraceEnd& end, etb_status) { end.texts = std::move(texts); }
  std::vector<std::string> texts;
  TeeSink<etb_text_sink> tee;
};

inline void note_partition(const etb_partition_args& args, CallTraceWriter& writer, TraceBegin& begin) {
  begin.graphs.push_back(writer.add_blob(bytes_of(args.graph->image.data, args.graph->image.nbytes)));
  begin.target = to_trace(args.target);
  begin.backend_id = text_of(args.backend_id);
  begin.options = to_trace(args.options, args.option_count);
}

template <>
struct Capture<calls::Partition> {
  Capture(Recorder& recorder, calls::Partition& call, TraceBegin& begin) : to(*call.sink) {
    note_partition(*call.args, recorder.writer(), begin);
    sink = {sizeof(sink), 0, this,
            [](void* ctx, const etb_claim* claim) -> etb_status {
              auto& self = *static_cast<Capture*>(ctx);
              if (claim != nullptr && claim->struct_size >= sizeof(*claim))
                self.claims.push_back(to_trace(*claim));
              return self.to.claim(self.to.ctx, claim);
            },
            [](void* ctx, const etb_reject* reject) -> etb_status {
              auto& self = *static_cast<Capture*>(ctx);
              if (reject != nullptr && reject->struct_size >= sizeof(*reject))
                self.claims.push_back(to_trace(*reject));
              return self.to.reject(self.to.ctx, reject);
            }};
    call.sink = &sink;
  }
  void finish(TraceEnd& end, etb_status) { end.claims = std::move(claims); }
  const etb_partition_sink& to;
  etb_partition_sink sink;
  std::vector<format::TraceClaim> claims;
};

template <>
struct Capture<calls::DryCheck> {
  Capture(Recorder& recorder, calls::DryCheck& call, TraceBegin& begin) {
    note_partition(*call.args, recorder.writer(), begin);
  }
  void finish(TraceEnd&, etb_status) {}
};

template <>
struct Capture<calls::Estimate> {
  Capture(Recorder& recorder, calls::Estimate& call, TraceBegin& begin) : estimate(call.estimate) {
    note_partition(*call.args, recorder.writer(), begin);
  }
  void finish(TraceEnd& end, etb_status status) {
    if (status != ETB_OK) return;
    end.estimate = {estimate->latency_ns, estimate->confidence, static_cast<double>(estimate->moved_bytes),
                    static_cast<double>(estimate->peak_bytes), estimate->energy_nj};
  }
  etb_estimate* estimate;
};

}  // namespace etb::host::record
