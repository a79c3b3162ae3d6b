// SPDX-License-Identifier: Apache-2.0
// The recording layer: writes every call with its arguments and answers to a call trace (api/format/call_trace.hpp), from
// which `etbackend replay` repeats them on another plugin, version or machine, without the model.
//
//   ETB_ASSIGN(auto recorder, Recorder::open("run.etbt"));
//   start_plugin(library, table, {.layers = {recorder->layer()}, ...});
//
// The record of a call's arguments is in the file before the plugin runs, so that the file of a crashed process ends
// with the call that it crashed in.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "api/format/call_trace_writer.hpp"
#include "host/layers/wrapping.hpp"

namespace etb::host {

namespace record {
class NamedDataReader;
class AsyncRuns;
}  // namespace record

struct RecorderOptions {
  uint64_t max_nbytes = uint64_t{16} << 30;  // of the file; the recording stops before it
  std::string command;                       // what the user ran, for people
};

class Recorder {
 public:
  // Creates the file, and replaces an old one.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(const std::string& path,
                                                              const RecorderOptions& options = {});
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  // "trace"
  Layer layer() const noexcept;

  // Returns the first error of the file: a full disk, the limit.
  [[nodiscard]] Status status() const { return writer_->status(); }
  uint64_t call_count() const noexcept { return call_count_; }

  // ---- for the layer's functions (wrapping.hpp)

  static constexpr const char *kName = "trace", *kServiceId = "etbackend.record/1";

  // Objects that outlive a call: the reader of named data that a delegate was made with, and runs of a context.
  struct Data {
    std::shared_ptr<record::NamedDataReader> named_data;
    std::shared_ptr<record::AsyncRuns> async_runs;
  };
  ObjectNumbers& numbers() noexcept { return numbers_; }

  template <class Call, class Run>
  etb_status on_call(WrappedObject<Recorder>& object, Call& call, etb_error* error, Run&& run);
  template <class Call, class Run>
  etb_status on_end(WrappedObject<Recorder>& object, Call& call, etb_error* error, Run&& run);
  template <class Call, class Run>
  etb_status on_make(const WrappedObject<Recorder>* object, Call& call, MadeObject<Recorder>& made,
                     etb_error* error, Run&& run);

  format::CallTraceWriter& writer() noexcept { return *writer_; }

 private:
  explicit Recorder(std::unique_ptr<format::CallTraceWriter> writer);

  // Starts the record of a call.
  format::TraceBegin begun(Function function, const WrappedObject<Recorder>* object);
  uint32_t thread_number();

  template <class Capture, class Finish, class Run>
  etb_status recorded(format::TraceBegin& begin, Capture& capture, etb_error* error, Finish&& finish,
                      Run&& run);

  std::unique_ptr<format::CallTraceWriter> writer_;
  ObjectNumbers numbers_;
  LayerService service_;
  std::atomic<uint64_t> call_count_{0};
  std::mutex threads_mutex_;
  std::map<std::thread::id, uint32_t> threads_;
};

}  // namespace etb::host
