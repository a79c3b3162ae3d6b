// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/delegate.hpp"

#include <string>

#include "plugins/dsp_stub/plugin.hpp"

namespace etb::dsp_stub {

namespace {

// Reports layers as events, and ends the run when the host wants.
struct LayerObserver {
  const Run* run;
  const StopRequest* stop;
  uint64_t first_cycle;
  Status status = {};

  Status put(int64_t id, const char* name, uint64_t begin, uint64_t end) const {
    const etb_event_sink* sink = run->raw().events;
    if (sink == nullptr) return {};
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.name = name;
    event.debug_id = id;
    event.begin_ticks = first_cycle + begin;
    event.end_ticks = first_cycle + end;
    event.timebase = kCycleTimebase;
    event.ns_numerator = 1000000000 / (DSP_CLOCK_HZ / 4);
    event.ns_denominator = 4;
    return from_host(sink->put(sink->ctx, &event), "event sink");
  }

  static int layer(void* ctx, uint32_t index, uint64_t begin, uint64_t end) {
    auto& self = *static_cast<LayerObserver*>(ctx);
    self.status = self.put(index, nullptr, begin, end);
    if (self.status) self.status = self.run->keep_going();
    if (self.status) self.status = self.stop->check();
    return self.status ? 0 : 1;
  }
};

etb_option fact(const char* key, int64_t value) {
  return i64_option(key, value, value, value, ETB_OBJECT_DELEGATE, "").default_option();
}

// Returns the bytes of an input or output that the payload describes.
template <class Data, class Bound>
Result<Data*> bytes_of(Bound& tensor, uint32_t width) {
  if (width == 2) {
    ETB_ASSIGN(const auto codes, tensor.template data<int16_t>());
    return reinterpret_cast<Data*>(codes.data());
  }
  ETB_ASSIGN(const auto codes, tensor.template data<int8_t>());
  return reinterpret_cast<Data*>(codes.data());
}

}  // namespace

Result<DspDelegate> DspDelegate::make(const DspPlugin& plugin, CreateArgs& args) {
  DspDelegate delegate;
  ETB_ASSIGN(delegate.view_, read_payload(args.payload.bytes()));
  const etb_option facts[] = {fact("layers", delegate.view_.layout.layer_count),
                              fact("tcm_bytes", delegate.view_.layout.tcm_bytes),
                              fact("arena_bytes", delegate.view_.layout.arena_bytes)};
  plugin.host().report("dsp_stub.delegate", facts);
  delegate.payload_ = std::move(args.payload);
  return delegate;
}

DelegateInfo DspDelegate::info() const {
  DelegateInfo info;
  info.input_count = view_.layout.input_count;
  info.output_count = view_.layout.io_count - view_.layout.input_count;
  info.resident_bytes = payload_.bytes().size();
  info.context_bytes = uint64_t{view_.layout.tcm_bytes} + view_.layout.arena_bytes;
  return info;
}

DspContext::DspContext(const DspDelegate& delegate)
    : view_(&delegate.view()),
      tcm_(std::make_unique<uint8_t[]>(view_->layout.tcm_bytes)),
      arena_(std::make_unique<uint8_t[]>(view_->layout.arena_bytes)),
      second_core_(
          this, [](void* self, const Run& run) { return static_cast<DspContext*>(self)->run_now(run); },
          stop_) {}

Status DspContext::bind(const Run& run, dsp_memories& memories) const {
  for (uint32_t i = 0; i < run.input_count(); ++i) {
    const Tensor input = run.input(i);
    if (!input.has_sizes(view_->inputs[i].sizes))
      return make_error(Code::INVALID_ARGUMENT, "input " + std::to_string(i) + ": sizes " +
                                                    sizes_text(input.sizes()) + ", expected " +
                                                    sizes_text(view_->inputs[i].sizes));
    ETB_ASSIGN(memories.inputs[i], bytes_of<const uint8_t>(input, view_->inputs[i].width));
  }
  for (uint32_t i = 0; i < run.output_count(); ++i) {
    OutputTensor output = run.output(i);
    ETB_TRY(output.resize(view_->outputs[i].sizes));
    ETB_ASSIGN(memories.outputs[i], bytes_of<uint8_t>(output, view_->outputs[i].width));
  }
  return {};
}

Status DspContext::execute(const Run& run) {
  stop_.begin();
  Status status = run_now(run);
  stop_.end();
  return status;
}

Status DspContext::cancel() {
  stop_.make();
  return {};
}

Status DspContext::run_now(const Run& run) {
  ETB_TRY(run.keep_going());
  dsp_memories memories{};
  memories.tcm = tcm_.get();
  memories.arena = arena_.get();
  memories.constants = view_->constants;
  memories.input_count = run.input_count();
  ETB_TRY(bind(run, memories));
  LayerObserver observer{&run, &stop_, cycles_};
  const dsp_observer calls = {&LayerObserver::layer, &observer};
  dsp_clock clock;
  const int stopped = dsp_run(&view_->stream, &memories, &calls, &clock);
  const uint64_t end = dsp_clock_end(&clock);
  cycles_ += end;
  if (stopped != 0) return observer.status;
  return view_->layout.layer_count == 0 ? observer.put(-1, "dsp_stub.run", 0, end) : Status{};
}

}  // namespace etb::dsp_stub
