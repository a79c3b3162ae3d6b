// SPDX-License-Identifier: Apache-2.0
// The layer "trace" by text: "trace" prints, "trace=FILE" records.
#include "host/layers/layer_kinds.hpp"
#include "host/layers/record/recorder.hpp"
#include "host/layers/trace/trace.hpp"

namespace etb::host {
namespace {

class PrintedTrace final : public ActiveLayer {
 public:
  explicit PrintedTrace(const LayerHost& host)
      : print_(host.print), trace_([this](const TracedCall& call) { print_(format_traced_call(call)); }) {}
  Layer layer() const noexcept override { return trace_.layer(); }

 private:
  std::function<void(const std::string&)> print_;
  Trace trace_;
};

class RecordedTrace final : public ActiveLayer {
 public:
  RecordedTrace(std::unique_ptr<Recorder> recorder, const LayerHost& host)
      : print_(host.print), recorder_(std::move(recorder)) {}
  Layer layer() const noexcept override { return recorder_->layer(); }
  bool finish() override {
    const Status status = recorder_->status();
    if (!status) print_("trace: " + status.error().message);
    return status.has_value();
  }

 private:
  std::function<void(const std::string&)> print_;
  std::unique_ptr<Recorder> recorder_;
};

Result<std::unique_ptr<ActiveLayer>> make(const std::string& settings, const LayerHost& host) {
  if (settings.empty()) return std::make_unique<PrintedTrace>(host);
  if (settings[0] != '=' || settings.size() == 1)
    return make_error(Code::INVALID_ARGUMENT, "found '" + settings + "', expected nothing or =FILE");
  RecorderOptions options;
  options.command = host.command;
  ETB_ASSIGN(auto recorder, Recorder::open(settings.substr(1), options));
  return std::make_unique<RecordedTrace>(std::move(recorder), host);
}

}  // namespace

const LayerKind kTraceKind{"trace", "trace[=FILE]",
                           "prints one line per call, or records all calls for `etbackend replay`", make};

}  // namespace etb::host
