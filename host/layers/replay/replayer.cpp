// SPDX-License-Identifier: Apache-2.0
#include "host/layers/replay/replayer.hpp"

#include <algorithm>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "host/layers/record/to_trace.hpp"

namespace etb::host::replay {
namespace {

// Receives the status of deinit for the Replayer.
struct DeinitStatus final : PluginLife {
  void on_deinit(etb_status value) noexcept override { status = value; }
  etb_status status = ETB_OK;
};

std::string status_text(etb_status status, const std::string& text) {
  const std::string name = to_text(static_cast<Code>(status));
  return status == ETB_OK ? "ok" : text.empty() ? name : name + ": " + text;
}

}  // namespace

std::string object_name(uint32_t kind, uint64_t number) {
  if (number == 0) return "";
  return std::string(to_text(static_cast<ObjectKind>(kind))) + " " + std::to_string(number);
}

etb_error fresh_error() { return ETB_ERROR_INIT; }

std::string describe_statuses(etb_status recorded, const std::string& recorded_text, etb_status found,
                              const char* found_text) {
  return "recorded " + status_text(recorded, recorded_text) + "; found " +
         status_text(found, std::string(found_text, strnlen(found_text, ETB_ERROR_TEXT_NBYTES)));
}

std::optional<std::span<const std::byte>> DataReader::find(const std::string& key) const {
  for (const auto* named : more_)
    if (const auto found = named->find(key); found != named->end()) return std::span(found->second);
  const auto search = [&](const CallTrace& trace,
                          const TracedCallRecord& call) -> std::optional<std::span<const std::byte>> {
    for (const format::TraceRead& read : call.reads)
      if (read.key == key && read.status == ETB_OK && read.data != 0) return trace.blob(read.data);
    return std::nullopt;
  };
  if (const auto found = search(trace_, call_)) return found;
  for (const auto& [trace, call] : others_)
    if (const auto found = search(*trace, *call)) return found;
  return std::nullopt;
}

etb_status DataReader::read(const char* key, etb_payload_view* out, etb_error* error) {
  if (key == nullptr || out == nullptr || !ETB_HAS_FIELD(etb_payload_view, out, release))
    return fail(error, ETB_INVALID_ARGUMENT,
                "key or view is NULL, or the view is smaller than in version 1.0");
  const auto found = find(key);
  if (!found) {
    bool was_in_vain = false;
    for (const format::TraceRead& read : call_.reads) was_in_vain = was_in_vain || read.key == key;
    const std::lock_guard lock(mutex_);
    if (!was_in_vain) missing_.emplace_back(key);
    return fail(error, ETB_NOT_FOUND, "the trace has no data '%.*s'", shown(key), key);
  }
  out->data = found->empty() ? nullptr : found->data();
  out->nbytes = found->size();
  out->alignment = 16;
  out->fd = -1;
  out->fd_offset_bytes = 0;
  out->release_ctx = nullptr;
  out->release = nullptr;
  return ETB_OK;
}

Replayer::Replayer(std::span<const CallTrace* const> traces, const Options& options)
    : traces_(traces.begin(), traces.end()), options_(options) {}

Replayer::~Replayer() { end_everything(); }

Result<Report> Replayer::run() {
  ETB_TRY(choose_plugin());
  index_payloads();
  for (size_t t = 0; t < traces_.size(); ++t) {
    now_ = {traces_[t], nullptr, t, 0};
    for (const std::string& note : traces_[t]->notes) report_.notes.push_back(note);
    if (!traces_[t]->stop_cause.empty())
      report_.notes.push_back("the recorder stopped: " + traces_[t]->stop_cause);
    for (const TracedCallRecord& record : traces_[t]->calls) {
      note_owner(record);
      if (!is_chosen(record.begin)) continue;
      now_.call = &record;
      ++report_.call_count;
      repeat();
    }
  }
  end_everything();
  for (const auto& [reason, count] : skipped_)
    report_.notes.push_back(std::to_string(count) + (count == 1 ? " call" : " calls") +
                            " not repeated: " + reason);
  return std::move(report_);
}

// One id of recorded plugins is replayed: that of the options, or the only one.
Status Replayer::choose_plugin() {
  std::set<std::string> ids;
  for (const CallTrace* trace : traces_)
    for (const TracedCallRecord& record : trace->calls)
      if (record.begin.function == to_text(Function::plugin_init)) ids.insert(record.begin.plugin_id);
  std::string list;
  for (const std::string& id : ids) list += (list.empty() ? "" : ", ") + id;
  if (ids.empty()) return make_error(Code::INVALID_ARGUMENT, "the trace has no call of plugin.init");
  if (options_.plugin_id.empty() && ids.size() > 1)
    return make_error(Code::INVALID_ARGUMENT, "the trace has calls of several plugins: " + list +
                                                  "\nhint: choose one with --from ID");
  plugin_id_ = options_.plugin_id.empty() ? *ids.begin() : options_.plugin_id;
  if (ids.count(plugin_id_) == 0)
    return make_error(Code::NOT_FOUND,
                      "no calls of plugin '" + plugin_id_ + "' in the trace, which has those of " + list);
  return {};
}

void Replayer::index_payloads() {
  for (const CallTrace* trace : traces_)
    for (const TracedCallRecord& record : trace->calls)
      for (size_t i = 0; i < record.end.artifacts.size(); ++i) {
        const std::span<const std::byte> bytes = trace->blob(record.end.artifacts[i].payload);
        const format::Sha256 digest =
            format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
        const auto [place, is_new] = payloads_.emplace(digest, CompiledPayload{trace, &record, i, {}, false});
        const size_t prefix = std::min<size_t>(bytes.size(), 4096);
        payload_prefixes_.emplace(format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), prefix}),
                                  &place->second);
      }
}

// Learns which recorded plugin an object belongs to.
void Replayer::note_owner(const TracedCallRecord& record) {
  const format::TraceBegin& from = record.begin;
  if (from.function == to_text(Function::plugin_init)) {
    if (from.plugin_id == plugin_id_ && record.end.made_number != 0)
      chosen_plugins_.insert(key(record.end.made_number));
    return;
  }
  if (record.end.made_number == 0) return;
  const uint64_t owner = from.object_kind == ETB_OBJECT_PLUGIN
                             ? from.object_number
                             : owners_[{now_.trace_index, from.object_kind, from.object_number}];
  owners_[{now_.trace_index, record.end.made_kind, record.end.made_number}] = owner;
}

bool Replayer::is_chosen(const format::TraceBegin& from) const {
  if (from.function == to_text(Function::plugin_init)) return from.plugin_id == plugin_id_;
  if (from.object_kind == ETB_OBJECT_PLUGIN) return chosen_plugins_.count(key(from.object_number)) != 0;
  const auto owner = owners_.find({now_.trace_index, from.object_kind, from.object_number});
  return owner != owners_.end() && chosen_plugins_.count(key(owner->second)) != 0;
}

void Replayer::repeat() {
  if (options_.on_call) options_.on_call(begin().number, begin().function);
  Status status =
      now_.call->has_end ? dispatch() : make_error(Code::NOT_SUPPORTED, "the trace has no end of the call");
  if (status) return;
  ++report_.skipped_count;
  ++skipped_[begin().function + ": " + status.error().message];
}

Status Replayer::dispatch() {
  static const std::map<std::string, Status (Replayer::*)()> kCalls = {
      {"plugin.init", &Replayer::init},
      {"plugin.deinit", &Replayer::deinit},
      {"plugin.option_schema", &Replayer::option_schema},
      {"plugin.set_option", &Replayer::set_option},
      {"plugin.get_option", &Replayer::get_option},
      {"device.enumerate", &Replayer::enumerate},
      {"device.open", &Replayer::open},
      {"device.close", &Replayer::close},
      {"device.query", &Replayer::query_device},
      {"delegate.check_payload", &Replayer::check_payload},
      {"delegate.create", &Replayer::create},
      {"delegate.destroy", &Replayer::destroy},
      {"delegate.query", &Replayer::query_delegate},
      {"delegate.query_io", &Replayer::query_io},
      {"delegate.context_create", &Replayer::context_create},
      {"delegate.context_destroy", &Replayer::context_destroy},
      {"delegate.context_reserve", &Replayer::context_reserve},
      {"delegate.execute", &Replayer::execute},
      {"delegate.execute_async", &Replayer::execute_async},
      {"delegate.cancel", &Replayer::cancel},
      {"aot.op_table", &Replayer::op_table},
      {"aot.preserve_ops", &Replayer::preserve_ops},
      {"aot.partition", &Replayer::partition},
      {"aot.dry_check", &Replayer::dry_check},
      {"aot.estimate", &Replayer::estimate},
      {"aot.compile", &Replayer::compile},
  };
  const auto found = kCalls.find(begin().function);
  if (found == kCalls.end())
    return make_error(Code::NOT_SUPPORTED, "a function that this version does not know");
  if (const auto live = plugins_.find(key(begin().object_number));
      begin().object_kind == ETB_OBJECT_PLUGIN && live != plugins_.end()) {
    const etb_plugin_table& functions = live->second.context->table();
    const std::string prefix = begin().function.substr(0, begin().function.find('.'));
    if ((prefix == "aot" && functions.aot == nullptr) ||
        (prefix == "device" && functions.device == nullptr) ||
        (prefix == "delegate" && functions.delegate == nullptr))
      return make_error(Code::NOT_SUPPORTED, "the plugin has no such table");
  }
  return (this->*found->second)();
}

void Replayer::differ(DifferenceKind kind, const std::string& text) {
  if (text.empty()) return;
  if (options_.ignored.count(kind) != 0) {
    ++report_.ignored_count;
    return;
  }
  report_.differences.push_back({kind, now_.trace_index, begin().number, begin().function,
                                 object_name(begin().object_kind, begin().object_number), text});
}

// Ends what the trace left alive, children first.
void Replayer::end_everything() {
  for (auto& [number, live] : contexts_) {
    const LiveDelegate& owner = delegates_.at({number.first, live.delegate});
    plugins_.at({number.first, owner.plugin})
        .context->table()
        .delegate->context_destroy(live.handle, nullptr);
  }
  contexts_.clear();
  for (auto& [number, live] : delegates_)
    plugins_.at({number.first, live.plugin}).context->table().delegate->destroy(live.handle, nullptr);
  delegates_.clear();
  for (auto& [number, live] : devices_)
    plugins_.at({number.first, live.plugin}).context->table().device->close(live.handle, nullptr);
  devices_.clear();
  plugins_.clear();
}

Result<LivePlugin*> Replayer::plugin(uint64_t number) {
  const auto found = plugins_.find(key(number));
  if (found != plugins_.end()) return &found->second;
  return make_error(Code::NOT_FOUND, object_name(ETB_OBJECT_PLUGIN, number) + " does not exist here");
}

Result<LiveDevice*> Replayer::device() {
  const auto found = devices_.find(key(begin().object_number));
  if (found != devices_.end()) return &found->second;
  return make_error(Code::NOT_FOUND,
                    object_name(ETB_OBJECT_DEVICE, begin().object_number) + " does not exist here");
}

Result<LiveDelegate*> Replayer::delegate(uint64_t number) {
  const auto found = delegates_.find(key(number));
  if (found != delegates_.end()) return &found->second;
  return make_error(Code::NOT_FOUND, object_name(ETB_OBJECT_DELEGATE, number) + " does not exist here");
}

Result<LiveContext*> Replayer::context() {
  const auto found = contexts_.find(key(begin().object_number));
  if (found != contexts_.end()) return &found->second;
  return make_error(Code::NOT_FOUND,
                    object_name(ETB_OBJECT_CONTEXT, begin().object_number) + " does not exist here");
}

// ---- plugin

Status Replayer::init() {
  const OptionList given(begin().options);
  const auto life = std::make_shared<DeinitStatus>();
  std::optional<Result<PluginContext>> started;
  call([&](etb_error* error) {
    started = options_.start(given.span(), life);
    return *started ? ETB_OK : to_c(started->error(), error);
  });
  if (!*started) return {};
  if (recorded().made_number == 0) return {};  // it failed when it was recorded
  LivePlugin& live = plugins_[key(recorded().made_number)];
  live.context.emplace(*std::move(*started));
  live.life = life;
  return {};
}

Status Replayer::deinit() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  const uint64_t number = begin().object_number;
  const auto is_of = [&](const auto& entry) {
    return entry.first.first == now_.trace_index && entry.second.plugin == number;
  };
  if (std::any_of(delegates_.begin(), delegates_.end(), is_of) ||
      std::any_of(devices_.begin(), devices_.end(), is_of))
    return make_error(Code::NOT_SUPPORTED, "objects of the plugin are alive, as the trace does not end them");
  call([&](etb_error*) {
    const auto life = std::static_pointer_cast<DeinitStatus>(live->life);
    live->context.reset();
    return life->status;
  });
  plugins_.erase(key(number));
  return {};
}

}  // namespace etb::host::replay
