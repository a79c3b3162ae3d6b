// SPDX-License-Identifier: Apache-2.0
// Calls of the delegate table.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>

#include "api/format/tensor_span.hpp"
#include "etb/cpp/sink.hpp"
#include "host/layers/record/to_trace.hpp"
#include "host/layers/replay/compare.hpp"
#include "host/layers/replay/replayer.hpp"

namespace etb::host::replay {
namespace {

constexpr size_t kMaxPrefixNbytes = 4096;  // of check_payload
constexpr uint32_t kMaxTensors = 1u << 16;
constexpr uint64_t kMaxScratchNbytes = uint64_t{4} << 30;
constexpr std::chrono::seconds kSignalTimeout{120};

format::Sha256 digest_of(std::span<const std::byte> bytes) {
  return format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

std::string verdict_text(int32_t kind) {
  constexpr const char* kTexts[] = {"unknown", "optimal", "prefer-recompile", "unsupported"};
  return kind >= 0 && kind < 4 ? kTexts[kind] : std::to_string(kind);
}

// Waits for the callback of a fence.
class Signal {
 public:
  Signal() {
    fence_.struct_size = sizeof(fence_);
    fence_.kind = "callback";
    fence_.fd = -1;
    fence_.handle = this;
    fence_.signal = [](void* handle, etb_status status) {
      auto& self = *static_cast<Signal*>(handle);
      const std::lock_guard lock(self.mutex_);
      self.status_ = status;
      self.is_set_ = true;
      self.changed_.notify_all();
    };
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  const etb_fence& fence() const { return fence_; }

  std::optional<etb_status> wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kSignalTimeout, [&] { return is_set_; })) return std::nullopt;
    return status_;
  }

 private:
  etb_fence fence_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
  etb_status status_ = ETB_OK;
};

bool is_about_time(etb_status status) { return status == ETB_CANCELLED || status == ETB_DEADLINE_EXCEEDED; }

// True if the recorded asynchronous run was cancelled.
bool was_cancelled(const TracedCallRecord& call) {
  return !call.signals.empty() && call.signals.front().status == ETB_CANCELLED;
}

// Inputs of a run that waited for fences were complete at its end.
const std::vector<format::TraceTensor>& inputs_of(const TracedCallRecord& call) {
  return call.begin.wait_kinds.empty() ? call.begin.inputs : call.signals.front().inputs;
}

// Checks that an asynchronous run can be repeated with what the trace has of it.
Status expect_repeatable(const TracedCallRecord& call, uint32_t caps) {
  if ((caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) == 0)
    return make_error(Code::NOT_SUPPORTED, "the plugin has no such function");
  if (call.signals.empty()) return make_error(Code::NOT_SUPPORTED, "its end was not recorded");
  if (call.signals.front().status == ETB_DEADLINE_EXCEEDED)
    return make_error(Code::NOT_SUPPORTED, "its end depends on time");
  if (inputs_of(call).size() != call.begin.inputs.size())
    return make_error(Code::NOT_SUPPORTED, "it waited for its inputs and wrote over them");
  if (was_cancelled(call) && (caps & ETB_DELEGATE_CAP_CANCEL) == 0)
    return make_error(Code::NOT_SUPPORTED, "it was cancelled, and the plugin cannot cancel");
  return {};
}

}  // namespace

Status Replayer::check_payload() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  const PluginContext& context = *live->context;
  std::span<const std::byte> prefix = now_.trace->blob(begin().payload);
  uint64_t payload_nbytes = begin().payload_nbytes;
  const auto compiled = payload_prefixes_.find(digest_of(prefix));
  if (options_.recompiles && compiled != payload_prefixes_.end() && compiled->second->is_compiled) {
    prefix = std::span(compiled->second->bytes);
    payload_nbytes = prefix.size();
    prefix = prefix.first(std::min<size_t>(prefix.size(), kMaxPrefixNbytes));
  }
  const SpecList specs(begin().specs);
  const Target target(begin().target);
  etb_payload_check check{};
  check.struct_size = sizeof(check);
  check.backend_id = backend_id();
  check.target = target.get();
  check.prefix = {prefix.data(), prefix.size()};
  check.payload_nbytes = payload_nbytes;
  check.specs = specs.span().data();
  check.spec_count = specs.span().size();
  etb_verdict verdict{};
  verdict.struct_size = sizeof(verdict);
  if (call([&](etb_error* error) {
        return context.table().delegate->check_payload(context.handle(), &check, &verdict, error);
      }) &&
      verdict.kind != recorded().verdict)
    differ(DifferenceKind::VERDICT,
           "recorded " + verdict_text(recorded().verdict) + "; found " + verdict_text(verdict.kind));
  return {};
}

Status Replayer::create() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  const PluginContext& context = *live->context;
  LiveDelegate made;
  made.plugin = begin().object_number;
  made.device = begin().target_number;
  etb_device* device = nullptr;
  if (made.device != 0) {
    const auto found = devices_.find(key(made.device));
    if (found == devices_.end())
      return make_error(Code::NOT_FOUND,
                        object_name(ETB_OBJECT_DEVICE, made.device) + " does not exist here");
    device = found->second.handle;
  }
  std::span<const std::byte> bytes = now_.trace->blob(begin().payload);
  if (begin().payload == 0 && begin().payload_nbytes != 0)
    return make_error(Code::NOT_SUPPORTED, "its payload was not recorded");
  const auto compiled = payloads_.find(digest_of(bytes));
  if (compiled != payloads_.end()) made.compiled = &compiled->second;
  SpecList specs(begin().specs);
  made.data = std::make_unique<DataReader>(*now_.trace, *now_.call);
  if (options_.recompiles && made.compiled != nullptr && made.compiled->is_compiled) {
    bytes = made.compiled->bytes;
    const size_t trace_index = static_cast<size_t>(
        std::find(traces_.begin(), traces_.end(), made.compiled->trace) - traces_.begin());
    const CompiledCall& all = compiled_.at({trace_index, made.compiled->call->begin.number});
    made.data->add(all.named);
    const auto own = all.specs.find(made.compiled->call->end.artifacts[made.compiled->artifact].graph_index);
    if (own != all.specs.end()) specs = SpecList(own->second);
  }
  // Named data that is a constant's bytes is in the trace of the compilation.
  if (made.compiled != nullptr) made.data->add(*made.compiled->trace, *made.compiled->call);
  // A copy of the exact size, so that checkers of memory see reads beyond its end.
  made.payload.emplace(bytes.size(), 0, 64);
  std::copy(bytes.begin(), bytes.end(), made.payload->data());
  etb_payload_view payload{};
  payload.struct_size = sizeof(payload);
  payload.data = bytes.empty() ? nullptr : made.payload->data();
  payload.nbytes = bytes.size();
  payload.alignment = 16;
  payload.fd = -1;
  made.named_data = {sizeof(etb_named_data), 0, made.data.get(),
                     [](void* ctx, const char* name, etb_payload_view* out, etb_error* error) -> etb_status {
                       return static_cast<DataReader*>(ctx)->read(name, out, error);
                     }};
  const OptionList given(begin().options);
  etb_delegate_args args{};
  args.struct_size = sizeof(args);
  args.backend_id = backend_id();
  args.method_name = begin().method_name.c_str();
  args.device = device;
  args.payload = &payload;
  args.specs = specs.span().data();
  args.spec_count = specs.span().size();
  args.options = given.span().data();
  args.option_count = given.span().size();
  // The reader outlives the delegate at a fixed address.
  LiveDelegate& stored = delegates_[key(recorded().made_number)];
  stored = std::move(made);
  if (begin().has_named_data != 0) args.named_data = &stored.named_data;
  etb_status status = ETB_OK;
  const bool is_wanted = call([&](etb_error* error) {
    return status = context.table().delegate->create(context.handle(), &args, &stored.handle, error);
  });
  for (const std::string& name : stored.data->take_missing())
    differ(DifferenceKind::DATA, "the plugin asks for '" + name + "', which was not asked for when recorded");
  if (is_wanted) return learn_needs(stored);
  if (status == ETB_OK)
    context.table().delegate->destroy(stored.handle, nullptr);  // the recorded call failed
  delegates_.erase(key(recorded().made_number));
  return {};
}

// Asks for what the host must provide, as every host does.
Status Replayer::learn_needs(LiveDelegate& live) {
  const etb_delegate_table& functions = *table(live.plugin).delegate;
  etb_error error = fresh_error();
  live.info.struct_size = sizeof(live.info);
  ETB_TRY(check(functions.query(live.handle, &live.info, &error), error));
  if (live.info.input_count > kMaxTensors || live.info.output_count > kMaxTensors ||
      live.info.scratch_bytes > kMaxScratchNbytes)
    return make_error(Code::OUT_OF_RESOURCES, "the plugin asks for " + std::to_string(live.info.input_count) +
                                                  " inputs and " + std::to_string(live.info.scratch_bytes) +
                                                  " bytes of scratch");
  live.inputs.resize(live.info.input_count);
  live.outputs.resize(live.info.output_count);
  auto put = [&](const etb_io_req& req) -> etb_status {
    auto& needs =
        (req.role & ETB_ROLE_INPUT) != 0 || req.index >= live.outputs.size() ? live.inputs : live.outputs;
    if (req.index < needs.size()) needs[req.index] = {req.alignment, req.padding_bytes};
    return ETB_OK;
  };
  const auto sink = sink_to<etb_io_req_sink>(put);
  return check(functions.query_io(live.handle, &sink, &error), error);
}

Status Replayer::destroy() {
  ETB_ASSIGN(LiveDelegate* const live, delegate(begin().object_number));
  for (const auto& [number, other] : contexts_)
    if (number.first == now_.trace_index && other.delegate == begin().object_number &&
        recorded().status == ETB_OK)
      return make_error(Code::NOT_SUPPORTED, "a context of the delegate is alive");
  etb_status status = ETB_OK;
  call([&](etb_error* error) { return status = table(live->plugin).delegate->destroy(live->handle, error); });
  if (status == ETB_OK) delegates_.erase(key(begin().object_number));
  return {};
}

Status Replayer::query_delegate() {
  ETB_ASSIGN(LiveDelegate* const live, delegate(begin().object_number));
  etb_delegate_info found{};
  found.struct_size = sizeof(found);
  if (!call(
          [&](etb_error* error) { return table(live->plugin).delegate->query(live->handle, &found, error); }))
    return {};
  const std::vector<uint64_t>& was = recorded().info;
  if (was.size() >= 2 && (was[0] != found.input_count || was[1] != found.output_count))
    differ(DifferenceKind::IO, "recorded " + std::to_string(was[0]) + " inputs and " +
                                   std::to_string(was[1]) + " outputs; found " +
                                   std::to_string(found.input_count) + " and " +
                                   std::to_string(found.output_count));
  return {};
}

Status Replayer::query_io() {
  ETB_ASSIGN(LiveDelegate* const live, delegate(begin().object_number));
  std::vector<format::TraceIoReq> found;
  auto put = [&](const etb_io_req& req) -> etb_status {
    found.push_back(record::to_trace(req));
    return ETB_OK;
  };
  const auto sink = sink_to<etb_io_req_sink>(put);
  if (call([&](etb_error* error) {
        return table(live->plugin).delegate->query_io(live->handle, &sink, error);
      }))
    differ(DifferenceKind::IO, compare_io(recorded().io_reqs, found));
  return {};
}

Status Replayer::context_create() {
  ETB_ASSIGN(LiveDelegate* const live, delegate(begin().object_number));
  const OptionList given(begin().options);
  LiveContext made{nullptr, begin().object_number};
  const etb_delegate_table& functions = *table(live->plugin).delegate;
  etb_status status = ETB_OK;
  const bool is_wanted = call([&](etb_error* error) {
    return status = functions.context_create(live->handle, given.span().data(), given.span().size(),
                                             &made.handle, error);
  });
  if (is_wanted)
    contexts_[key(recorded().made_number)] = made;
  else if (status == ETB_OK)
    functions.context_destroy(made.handle, nullptr);
  return {};
}

Status Replayer::context_destroy() {
  ETB_ASSIGN(LiveContext* const live, context());
  ETB_ASSIGN(LiveDelegate* const owner, delegate(live->delegate));
  etb_status status = ETB_OK;
  call([&](etb_error* error) {
    return status = table(owner->plugin).delegate->context_destroy(live->handle, error);
  });
  if (status == ETB_OK) contexts_.erase(key(begin().object_number));
  return {};
}

Status Replayer::context_reserve() {
  ETB_ASSIGN(LiveContext* const live, context());
  ETB_ASSIGN(LiveDelegate* const owner, delegate(live->delegate));
  ETB_TRY(expect_offered(table(owner->plugin).delegate->caps & ETB_DELEGATE_CAP_CONTEXT_RESERVE));
  ETB_ASSIGN(TensorList inputs, TensorList::make_inputs(begin().inputs, *now_.trace, owner->inputs, false));
  call([&](etb_error* error) {
    return table(owner->plugin)
        .delegate->context_reserve(live->handle, inputs.span().data(),
                                   static_cast<uint32_t>(inputs.span().size()), error);
  });
  return {};
}

Status Replayer::execute() { return run_once(false); }
Status Replayer::execute_async() { return run_once(true); }

Status Replayer::run_once(bool is_async) {
  ETB_ASSIGN(LiveContext* const live, context());
  ETB_ASSIGN(LiveDelegate* const owner, delegate(live->delegate));
  const etb_delegate_table& functions = *table(owner->plugin).delegate;
  if (is_about_time(recorded().status)) return make_error(Code::NOT_SUPPORTED, "its end depends on time");
  const bool is_started = is_async && recorded().status == ETB_OK;
  if (is_started) ETB_TRY(expect_repeatable(*now_.call, functions.caps));
  ETB_ASSIGN(TensorList inputs, TensorList::make_inputs(is_started ? inputs_of(*now_.call) : begin().inputs,
                                                        *now_.trace, owner->inputs, true));
  ETB_ASSIGN(TensorList outputs, TensorList::make_outputs(begin().outputs, inputs, owner->outputs));
  const uint64_t alignment = std::max<uint64_t>(owner->info.scratch_alignment, 64);
  if (alignment > 4096 || (alignment & (alignment - 1)) != 0)
    return make_error(Code::NOT_SUPPORTED, "scratch aligned to " + std::to_string(alignment) + " bytes");
  const AlignedBytes scratch(owner->info.scratch_bytes, 0, alignment);
  const OptionList given(begin().options);
  Signal signal;
  std::vector<format::TraceEvent> events;
  auto put = [&](const etb_event& event) -> etb_status {
    events.push_back(record::to_trace(event));
    return ETB_OK;
  };
  const auto sink = sink_to<etb_event_sink>(put);
  etb_exec_args args{};
  args.struct_size = sizeof(args);
  args.inputs = inputs.span().data();
  args.outputs = outputs.span().data();
  args.input_count = static_cast<uint32_t>(inputs.span().size());
  args.output_count = static_cast<uint32_t>(outputs.span().size());
  args.scratch = owner->info.scratch_bytes != 0 ? scratch.data() : nullptr;
  args.scratch_nbytes = owner->info.scratch_bytes;
  args.events = begin().has_events != 0 ? &sink : nullptr;
  args.options = given.span().data();
  args.option_count = given.span().size();
  args.run_id = begin().run_id;
  args.priority = begin().priority;
  if (is_async) {
    args.signal = &signal.fence();
    args.signal_count = 1;
  }
  bool is_hung = false;
  etb_status end = ETB_OK;
  const bool is_ok = call([&](etb_error* error) {
    const etb_status status = is_async ? functions.execute_async(live->handle, &args, error)
                                       : functions.execute(live->handle, &args, error);
    if (!is_async || status != ETB_OK) return status;
    if (was_cancelled(*now_.call)) (void)functions.cancel(live->handle, nullptr);
    const std::optional<etb_status> signalled = signal.wait();
    is_hung = !signalled;
    end = signalled.value_or(ETB_DEADLINE_EXCEEDED);
    return status;
  });
  if (is_hung) return make_error(Code::DEADLINE_EXCEEDED, "the plugin did not signal the end within 120 s");
  if (!is_ok) return {};
  if (is_async && was_cancelled(*now_.call) && (end == ETB_OK || end == ETB_CANCELLED)) {
    if (end == ETB_OK)
      report_.notes.push_back("call " + std::to_string(begin().number) +
                              " was cancelled when it was recorded, and ended before it was cancelled here");
    return {};
  }
  if (is_async && end != now_.call->signals.front().status) {
    differ(DifferenceKind::STATUS,
           "of the fence: " + describe_statuses(now_.call->signals.front().status, "", end, ""));
    return {};
  }
  if (end == ETB_OK)
    compare_outputs(*owner, inputs, outputs,
                    is_async ? now_.call->signals.front().outputs : recorded().outputs);
  return {};
}

void Replayer::compare_outputs(const LiveDelegate& owner, const TensorList& inputs, const TensorList& outputs,
                               const std::vector<format::TraceTensor>& was) {
  std::optional<std::pair<bool, std::string>> judged;  // one judgement for all outputs
  for (size_t i = 0; i < was.size() && i < outputs.span().size(); ++i) {
    const etb_tensor& found = outputs.span()[i];
    const std::span<const int64_t> sizes{found.sizes, found.rank};
    const std::string where = "output " + std::to_string(i) + ": ";
    if (!std::equal(sizes.begin(), sizes.end(), was[i].sizes.begin(), was[i].sizes.end())) {
      const auto list = [](const auto& numbers) {
        std::string text;
        for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
        return "[" + text + "]";
      };
      differ(DifferenceKind::SIZES, where + "recorded " + list(was[i].sizes) + "; found " + list(sizes));
      continue;
    }
    const std::span<const std::byte> expected = now_.trace->blob(was[i].data);
    if (was[i].data == 0) continue;
    const auto nbytes = format::tensor_span_nbytes(found.dtype, sizes, was[i].strides);
    if (!nbytes || *nbytes != expected.size() || *nbytes > found.capacity_bytes) continue;
    ++report_.output_count;
    const OutputDistance distance =
        measure_distance(found.dtype, expected, {static_cast<const std::byte*>(found.data), expected.size()},
                         {options_.atol, options_.rtol});
    if (distance.differing_count == 0) {
      ++report_.equal_count;
      continue;
    }
    bool is_accepted = distance.beyond_count == 0;
    std::string text = where + describe_distance(distance);
    if (!is_accepted && options_.judge && !judged) {
      bool is_right = false;
      std::string why = judge(owner, inputs, outputs, is_right);
      judged.emplace(is_right, std::move(why));
    }
    if (judged && !judged->second.empty()) text += "; " + judged->second;
    is_accepted = is_accepted || (judged && judged->first);
    report_.distances.push_back({begin().number, static_cast<uint32_t>(i), distance, is_accepted});
    if (!is_accepted) differ(DifferenceKind::OUTPUT, text);
  }
}

// Asks the judge about the outputs of a run, where the traces have the graph of the payload.
std::string Replayer::judge(const LiveDelegate& owner, const TensorList& inputs, const TensorList& outputs,
                            bool& out_is_right) const {
  out_is_right = false;
  if (owner.compiled == nullptr)
    return "no error model, because the traces have no compilation of the payload";
  const TracedCallRecord& compilation = *owner.compiled->call;
  const uint32_t index = compilation.end.artifacts[owner.compiled->artifact].graph_index;
  if (index >= compilation.begin.graphs.size()) return "no error model, because the trace lacks the graph";
  const CallTrace& trace = *owner.compiled->trace;
  const DataReader constants(trace, compilation);
  JudgedRun run;
  run.graph = trace.blob(compilation.begin.graphs[index]);
  run.constant = [&](const std::string& name) {
    return constants.find(name).value_or(std::span<const std::byte>());
  };
  run.inputs = inputs.span();
  run.outputs = outputs.span();
  const std::optional<std::string> wrong = options_.judge(run);
  if (!wrong) return "no error model for this graph";
  out_is_right = wrong->empty();
  return out_is_right ? "" : "beyond the error model: " + *wrong;
}

// Repeated after the run that it was meant for, it has no effect on results.
Status Replayer::cancel() {
  ETB_ASSIGN(LiveContext* const live, context());
  ETB_ASSIGN(LiveDelegate* const owner, delegate(live->delegate));
  const etb_delegate_table& functions = *table(owner->plugin).delegate;
  ETB_TRY(expect_offered(functions.caps & ETB_DELEGATE_CAP_CANCEL));
  call([&](etb_error* error) { return functions.cancel(live->handle, error); });
  return {};
}

}  // namespace etb::host::replay
