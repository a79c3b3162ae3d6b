// SPDX-License-Identifier: Apache-2.0
// The objects of a replay and what all its calls share. calls_*.cpp repeat the calls of each table.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/format/digest.hpp"
#include "host/layers/calls.hpp"
#include "host/layers/replay/from_trace.hpp"
#include "host/layers/replay/replay.hpp"
#include "host/services/clock.hpp"

namespace etb::host::replay {

using format::CallTrace;
using format::TracedCallRecord;

// "context 1"
std::string object_name(uint32_t kind, uint64_t number);
etb_error fresh_error();
// "recorded ok, found out of memory: no device memory left"
std::string describe_statuses(etb_status recorded, const std::string& recorded_text, etb_status found,
                              const char* found_text);

// A payload that was recorded, and what the plugin of the replay compiled for it.
struct CompiledPayload {
  const CallTrace* trace = nullptr;
  const TracedCallRecord* call = nullptr;  // the compilation
  size_t artifact = 0;                     // in its recorded answers
  std::vector<std::byte> bytes;            // found; empty if it was not compiled again
  bool is_compiled = false;
};

// Results of one compilation in the replay.
struct CompiledCall {
  std::map<std::string, std::vector<std::byte>> named;
  std::map<uint32_t, std::vector<format::TraceSpec>> specs;  // by graph index
};

// Named data or constants of one call as the plugin reads them.
class DataReader {
 public:
  DataReader(const CallTrace& trace, const TracedCallRecord& call) : trace_(trace), call_(call) {}
  void add(const std::map<std::string, std::vector<std::byte>>& more) { more_.push_back(&more); }
  void add(const CallTrace& trace, const TracedCallRecord& call) { others_.emplace_back(&trace, &call); }

  // Aligned bytes of a key, or an empty optional.
  std::optional<std::span<const std::byte>> find(const std::string& key) const;
  etb_status read(const char* key, etb_payload_view* out, etb_error* error);
  // Keys that the plugin asked for in vain although the recorded one did not.
  std::vector<std::string> take_missing() { return std::exchange(missing_, {}); }

 private:
  const CallTrace& trace_;
  const TracedCallRecord& call_;
  std::vector<const std::map<std::string, std::vector<std::byte>>*> more_;
  std::vector<std::pair<const CallTrace*, const TracedCallRecord*>> others_;
  std::mutex mutex_;
  std::vector<std::string> missing_;
};

struct LivePlugin {
  std::optional<PluginContext> context;
  std::shared_ptr<PluginLife> life;
  etb_status deinit_status = ETB_OK;
};

struct LiveDelegate {
  etb_delegate* handle = nullptr;
  uint64_t plugin = 0;
  uint64_t device = 0;
  etb_delegate_info info{};
  std::vector<MemoryNeed> inputs, outputs;
  std::optional<AlignedBytes> payload;
  std::unique_ptr<DataReader> data;
  etb_named_data named_data{};
  const CompiledPayload* compiled = nullptr;  // where the payload comes from, if the traces show it
};

struct LiveContext {
  etb_context* handle = nullptr;
  uint64_t delegate = 0;
};

struct LiveDevice {
  etb_device* handle = nullptr;
  uint64_t plugin = 0;
};

class Replayer {
 public:
  Replayer(std::span<const CallTrace* const> traces, const Options& options);
  ~Replayer();
  Result<Report> run();

 private:
  // The call that is repeated now.
  struct Current {
    const CallTrace* trace = nullptr;
    const TracedCallRecord* call = nullptr;
    size_t trace_index = 0;
    uint64_t duration_ns = 0;
  };
  // Object numbers are those of one trace; the same number of another trace is another object.
  using Key = std::pair<size_t, uint64_t>;
  Key key(uint64_t number) const { return {now_.trace_index, number}; }

  Status choose_plugin();
  void index_payloads();
  bool is_chosen(const format::TraceBegin& begin) const;
  void note_owner(const TracedCallRecord& call);
  void repeat();
  Status dispatch();
  void end_everything();

  // ---- plugin and device
  Status init();
  Status deinit();
  Status option_schema();
  Status set_option();
  Status get_option();
  Status enumerate();
  Status open();
  Status close();
  Status query_device();

  // ---- delegate
  Status check_payload();
  Status create();
  Status destroy();
  Status query_delegate();
  Status query_io();
  Status context_create();
  Status context_destroy();
  Status context_reserve();
  Status execute();
  Status execute_async();
  Status cancel();
  Status run_once(bool is_async);
  void compare_outputs(const LiveDelegate& delegate, const TensorList& inputs, const TensorList& outputs,
                       const std::vector<format::TraceTensor>& recorded);
  std::string judge(const LiveDelegate& delegate, const TensorList& inputs, const TensorList& outputs,
                    bool& out_is_right) const;
  Status learn_needs(LiveDelegate& delegate);

  // ---- ahead of time
  Status op_table();
  Status preserve_ops();
  Status partition();
  Status dry_check();
  Status estimate();
  Status compile();
  void compare_compiled(const std::vector<format::TraceArtifact>& found,
                        std::map<uint32_t, std::vector<std::byte>> payloads, CompiledCall& compiled);

  // Runs a call, measures it, and compares its status. Returns true if both statuses are ETB_OK.
  template <class Run>
  bool call(Run&& run);
  void differ(DifferenceKind kind, const std::string& text);  // nothing for ""
  const format::TraceBegin& begin() const { return now_.call->begin; }
  const format::TraceEnd& recorded() const { return now_.call->end; }

  // The delegate id to pass. Its text lives as long as the call.
  const char* backend_id() {
    backend_id_ = options_.backend_id ? options_.backend_id(begin().backend_id) : begin().backend_id;
    return backend_id_.c_str();
  }

  // An error that skips a call of an optional function that the plugin does not offer.
  Status expect_offered(uint32_t capability) const {
    if (capability != 0 || recorded().status == ETB_NOT_IMPLEMENTED) return {};
    return make_error(Code::NOT_SUPPORTED, "the plugin has no such function");
  }

  // The object of the call, or an error that skips it.
  Result<LivePlugin*> plugin(uint64_t number);
  Result<LivePlugin*> plugin() { return plugin(begin().object_number); }
  Result<LiveDevice*> device();
  Result<LiveDelegate*> delegate(uint64_t number);
  Result<LiveContext*> context();
  const etb_plugin_table& table(uint64_t plugin_number) {
    return plugins_.at(key(plugin_number)).context->table();
  }
  Result<std::pair<uint32_t, void*>> option_target(uint64_t& out_plugin);

  std::vector<const CallTrace*> traces_;
  const Options& options_;
  std::string plugin_id_, backend_id_;
  Current now_;
  Report report_;
  std::map<std::tuple<size_t, uint32_t, uint64_t>, uint64_t> owners_;  // plugin of each recorded object
  std::set<Key> chosen_plugins_;
  std::map<Key, LivePlugin> plugins_;
  std::map<Key, LiveDevice> devices_;
  std::map<Key, LiveDelegate> delegates_;
  std::map<Key, LiveContext> contexts_;
  std::map<format::Sha256, CompiledPayload> payloads_;           // by the digest of all bytes
  std::map<format::Sha256, CompiledPayload*> payload_prefixes_;  // by that of the first ones
  std::map<Key, CompiledCall> compiled_;
  std::map<std::string, uint64_t> skipped_;  // by reason
};

template <class Run>
bool Replayer::call(Run&& run) {
  etb_error error = fresh_error();
  const uint64_t started = now_ns();
  const etb_status status = run(&error);
  now_.duration_ns = now_ns() - started;
  FunctionTimes& times = report_.times[begin().function];
  ++times.call_count;
  times.recorded_ns += recorded().duration_ns;
  times.found_ns += now_.duration_ns;
  ++report_.replayed_count;
  if (status != recorded().status)
    differ(DifferenceKind::STATUS, describe_statuses(recorded().status, recorded().text, status, error.text));
  return status == ETB_OK && recorded().status == ETB_OK;
}

}  // namespace etb::host::replay
