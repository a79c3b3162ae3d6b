// SPDX-License-Identifier: Apache-2.0
#include "host/layers/record/recorder.hpp"

#include <sys/utsname.h>

#include <ctime>

#include "etb/version.h"
#include "host/layers/record/async_runs.hpp"
#include "host/layers/record/compile_capture.hpp"

namespace etb::host {
namespace {

std::string machine_name() {
  struct utsname name {};
  if (::uname(&name) != 0) return "";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& path, const RecorderOptions& options) {
  format::TraceSource source;
  source.program = "etbackend";
  source.version = std::to_string(ETB_VERSION_MAJOR) + "." + std::to_string(ETB_VERSION_MINOR) + "." +
                   std::to_string(ETB_VERSION_PATCH);
  source.machine = machine_name();
  source.command = options.command;
  source.started_s = static_cast<uint64_t>(std::time(nullptr));
  source.clock_ns = now_ns();
  ETB_ASSIGN(auto writer, format::CallTraceWriter::open(path, options.max_nbytes, source));
  return std::unique_ptr<Recorder>(new Recorder(std::move(writer)));
}

Recorder::Recorder(std::unique_ptr<format::CallTraceWriter> writer)
    : writer_(std::move(writer)), service_{sizeof(LayerService), 0, this} {}

Recorder::~Recorder() = default;

Layer Recorder::layer() const noexcept {
  return {kName, &Wrapping<Recorder>::table(), kServiceId, &service_};
}

uint32_t Recorder::thread_number() {
  const std::lock_guard lock(threads_mutex_);
  return threads_.emplace(std::this_thread::get_id(), static_cast<uint32_t>(threads_.size() + 1))
      .first->second;
}

format::TraceBegin Recorder::begun(Function function, const WrappedObject<Recorder>* object) {
  format::TraceBegin begin;
  begin.number = ++call_count_;
  begin.function = to_text(function);
  begin.thread = thread_number();
  begin.begin_ns = now_ns();
  if (object != nullptr) {
    begin.object_kind = static_cast<uint32_t>(object->kind);
    begin.object_number = object->number;
  }
  return begin;
}

// Passes the plugin an error even when the host passes none, to get its text.
template <class Capture, class Finish, class Run>
etb_status Recorder::recorded(format::TraceBegin& begin, Capture& capture, etb_error* host_error,
                              Finish&& finish, Run&& run) {
  etb_error own = ETB_ERROR_INIT;
  etb_error* const error = etb::detail::can_write(host_error) ? host_error : &own;
  writer_->add(format::TraceRecordKind::BEGIN, begin);
  const uint64_t started = now_ns();
  const etb_status status = run(error);
  format::TraceEnd end;
  end.end_ns = now_ns();
  end.duration_ns = end.end_ns - started;
  end.number = begin.number;
  end.status = status;
  if (status != ETB_OK) {
    end.vendor_code = error->vendor_code;
    end.reason.assign(error->reason, strnlen(error->reason, sizeof(error->reason)));
    end.text.assign(error->text, strnlen(error->text, sizeof(error->text)));
  }
  finish(end);
  capture.finish(end, status);
  writer_->add(format::TraceRecordKind::END, end);
  return status;
}

template <class Call, class Run>
etb_status Recorder::on_call(WrappedObject<Recorder>& object, Call& call, etb_error* error, Run&& run) {
  format::TraceBegin begin = begun(call.function, &object);
  record::Capture<Call> capture(*this, call, begin);
  if constexpr (std::is_same_v<Call, calls::ExecuteAsync>)
    capture.start(*object.data.async_runs, *this, begin);
  return recorded(
      begin, capture, error, [](format::TraceEnd&) {}, run);
}

template <class Call, class Run>
etb_status Recorder::on_end(WrappedObject<Recorder>& object, Call& call, etb_error* error, Run&& run) {
  return on_call(object, call, error, run);
}

template <class Call, class Run>
etb_status Recorder::on_make(const WrappedObject<Recorder>* object, Call& call, MadeObject<Recorder>& made,
                             etb_error* error, Run&& run) {
  format::TraceBegin begin = begun(call.function, object);
  record::Capture<Call> capture(*this, call, begin);
  const auto finish = [&](format::TraceEnd& end) {
    if (made.object == nullptr) return;
    end.made_kind = static_cast<uint32_t>(made.kind);
    end.made_number = made.number;
    if constexpr (std::is_same_v<Call, calls::Create>) made.object->data.named_data = capture.named_data;
    if constexpr (std::is_same_v<Call, calls::ContextCreate>)
      made.object->data.async_runs = std::make_shared<record::AsyncRuns>();
  };
  return recorded(begin, capture, error, finish, run);
}

}  // namespace etb::host
