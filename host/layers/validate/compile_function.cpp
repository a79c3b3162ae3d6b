// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "host/layers/validate/borrowed.hpp"
#include "host/layers/validate/functions.hpp"
#include "host/layers/validate/payloads.hpp"
#include "host/layers/validate/sinks.hpp"

namespace etb::host::validate {
namespace {

// Checks the order of the artifacts of a compilation (ABI-AOT-05). Kept after the call, so
// that a late put is reported.
struct ArtifactSink {
  ArtifactSink(Call& call, const etb_artifact_sink& to, uint64_t graphs)
      : guard(call, "args.sink"), real(to), graph_count(graphs) {
    sink.struct_size = sizeof(sink);
    sink.ctx = this;
    sink.begin_payload = [](void* ctx, uint32_t index, const etb_blob_writer** out) {
      auto& self = *static_cast<ArtifactSink*>(ctx);
      return self.guard.take([&](Call& in) { return self.begin(in, index, out); });
    };
    sink.named_blob = [](void* ctx, const etb_named_blob* blob) {
      auto& self = *static_cast<ArtifactSink*>(ctx);
      return self.guard.take([&](Call& in) { return self.put(in, blob); });
    };
    sink.end_payload = [](void* ctx, const etb_artifact* artifact) {
      auto& self = *static_cast<ArtifactSink*>(ctx);
      return self.guard.take([&](Call& in) { return self.end(in, artifact); });
    };
    writer.struct_size = sizeof(writer);
    writer.ctx = this;
    writer.write = [](void* ctx, uint64_t offset_bytes, const void* data, uint64_t nbytes) {
      auto& self = *static_cast<ArtifactSink*>(ctx);
      return self.guard.take([&](Call& in) { return self.write(in, offset_bytes, data, nbytes); });
    };
  }

  etb_status begin(Call& call, uint32_t index, const etb_blob_writer** out) {
    if (out == nullptr) return refuse(call, "ABI-CALL-04", "begin_payload: out_writer is NULL");
    if (real_writer != nullptr || index != ended_count || index >= graph_count)
      return refuse(
          call, "ABI-AOT-05",
          fmt::format("begin_payload of graph {}, expected {}", index,
                      real_writer != nullptr ? "end_payload before" : fmt::format("graph {}", ended_count)));
    const etb_status status = real.begin_payload(real.ctx, index, &real_writer);
    if (status == ETB_OK) *out = &writer;
    return status;
  }

  etb_status write(Call& call, uint64_t offset_bytes, const void* data, uint64_t nbytes) {
    if (real_writer == nullptr)
      return refuse(call, "ABI-AOT-05", "write outside begin_payload and end_payload");
    if (data == nullptr && nbytes != 0) return refuse(call, "ABI-CALL-04", "write: data is NULL");
    if (offset_bytes > UINT64_MAX - nbytes) return refuse(call, "ABI-AOT-05", "write: the end overflows");
    return real_writer->write(real_writer->ctx, offset_bytes, data, nbytes);
  }

  etb_status put(Call& call, const etb_named_blob* blob) {
    if (!check_struct(call, Side::PLUGIN, blob, "blob") ||
        !check_text(call, Side::PLUGIN, blob->key, "blob.key") ||
        !check_bytes(call, Side::PLUGIN, blob->value, "blob.value"))
      return ETB_INVALID_ARGUMENT;
    if (blob->alignment != 0 && !is_power_of_two(blob->alignment))
      return refuse(call, "ABI-TYPE-03",
                    fmt::format("blob.alignment is {}, expected 0 or a power of two", blob->alignment));
    const uint64_t hash = blob->constant_key != nullptr
                              ? hash_bytes(blob->constant_key, std::strlen(blob->constant_key)) | 1
                              : hash_bytes(blob->value.data, blob->value.nbytes) & ~uint64_t{1};
    const auto [known, is_new] = blobs.emplace(blob->key, hash);
    if (!is_new && known->second != hash)
      return refuse(call, "ABI-AOT-04",
                    fmt::format("the named blob '{}' was added before with other bytes", blob->key));
    return real.named_blob(real.ctx, blob);
  }

  etb_status end(Call& call, const etb_artifact* artifact) {
    if (!check_struct(call, Side::PLUGIN, artifact, "artifact")) return ETB_INVALID_ARGUMENT;
    if (real_writer == nullptr || artifact->graph_index != ended_count)
      return refuse(call, "ABI-AOT-05",
                    fmt::format("end_payload of graph {}, expected {}", artifact->graph_index,
                                real_writer == nullptr ? "begin_payload before"
                                                       : fmt::format("graph {}", ended_count)));
    if (!check_specs(call, Side::PLUGIN, artifact->specs, artifact->spec_count, "artifact.specs") ||
        !check_array(call, Side::PLUGIN, artifact->debug_map, artifact->debug_entry_count,
                     "artifact.debug_map", [&](const etb_debug_entry& entry, const std::string& where) {
                       if (entry.name != nullptr || entry.debug_id != -1) return true;
                       call.plugin("ABI-CALL-04", "{} has neither name nor debug_id", where);
                       return false;
                     }))
      return ETB_INVALID_ARGUMENT;
    for (uint64_t i = 0; i < artifact->named_key_count; ++i)
      if (artifact->named_keys == nullptr || artifact->named_keys[i] == nullptr ||
          blobs.find(artifact->named_keys[i]) == blobs.end())
        return refuse(call, "ABI-AOT-05", "artifact.named_keys names a blob that was not added");
    real_writer = nullptr;
    ++ended_count;
    return real.end_payload(real.ctx, artifact);
  }

  static etb_status refuse(Call& call, Rule rule, std::string text) {
    call.report(Side::PLUGIN, rule, std::move(text));
    return ETB_INVALID_ARGUMENT;
  }

  SinkGuard guard;
  const etb_artifact_sink real;
  const uint64_t graph_count;
  etb_artifact_sink sink{};
  etb_blob_writer writer{};
  const etb_blob_writer* real_writer = nullptr;  // not null between begin_payload and end_payload
  uint64_t ended_count = 0;
  std::map<std::string, uint64_t> blobs;  // hash by key
};

// The etb_progress for the plugin: reports from any thread, but only during the call, and never a smaller
// value.
struct ProgressGuard {
  ProgressGuard(Call& call, const etb_progress& to) : state(call.state()), real(to) {
    progress.struct_size = sizeof(progress);
    progress.ctx = this;
    progress.report = [](void* ctx, double done, const char* what) {
      static_cast<ProgressGuard*>(ctx)->report(done, what);
    };
  }

  void report(double done, const char* what) {
    const std::lock_guard lock(mutex);
    if (!is_open)
      return state.report("ABI-OWN-01", Side::PLUGIN, "aot.compile",
                          "progress was reported after the call returned");
    if (!(done >= last && done <= 1.0))
      return state.report("ABI-TYPE-03", Side::PLUGIN, "aot.compile",
                          fmt::format("progress is {}, expected {} to 1", done, last));
    last = done;
    real.report(real.ctx, done, what);
  }

  void close() {
    const std::lock_guard lock(mutex);
    is_open = false;
  }

  State& state;
  const etb_progress real;
  etb_progress progress{};
  std::mutex mutex;
  bool is_open = true;
  double last = 0.0;
};

// Returns true if all that the arguments point to can be read.
bool check_compile_args(Call& call, const etb_compile_args* args) {
  if (!check_struct(call, Side::HOST, args, "args") ||
      !check_array(call, Side::HOST, args->graphs, args->graph_count, "args.graphs",
                   [&](const etb_graph_image& graph, const std::string& where) {
                     return check_graph(call, graph, where);
                   })) {
    call.refuse();
    return false;
  }
  const bool has_id = check_text(call, Side::HOST, args->backend_id, "args.backend_id");
  const bool has_specs = check_specs(call, Side::HOST, args->specs, args->spec_count, "args.specs");
  const bool has_target = check_target(call, args->target);
  const bool has_options = check_options(call, Side::HOST, args->options, args->option_count, "args.options");
  if (args->constants != nullptr)
    check_callable(call, args->constants, &etb_constant_reader::read, "args.constants");
  if (check_callable(call, args->sink, &etb_artifact_sink::begin_payload, "args.sink") &&
      check_callable(call, args->sink, &etb_artifact_sink::named_blob, "args.sink"))
    check_callable(call, args->sink, &etb_artifact_sink::end_payload, "args.sink");
  if (args->progress != nullptr) check_callable(call, args->progress, &etb_progress::report, "args.progress");
  return has_id && has_specs && has_target && has_options;
}

}  // namespace

etb_status ETB_CALL compile(etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
  Call call("aot.compile", error);
  Instance* const instance = call.enter(plugin);
  if (instance == nullptr) return call.finish(ETB_INVALID_HANDLE);
  const bool is_sound = check_compile_args(call, args);
  if (call.is_refused()) return call.finish(ETB_INVALID_ARGUMENT);

  State& state = call.state();
  const auto sink = std::make_shared<ArtifactSink>(call, *args->sink, args->graph_count);
  state.adopt(sink);
  std::shared_ptr<ProgressGuard> progress;
  if (args->progress != nullptr) {
    progress = std::make_shared<ProgressGuard>(call, *args->progress);
    state.adopt(progress);
  }
  std::unique_ptr<ConstantsGuard> constants;
  if (args->constants != nullptr)
    constants = std::make_unique<ConstantsGuard>(state, call.function(), *args->constants);
  etb_compile_args copy = *args;
  copy.struct_size = sizeof(copy);
  copy.sink = &sink->sink;
  copy.progress = progress != nullptr ? &progress->progress : nullptr;
  copy.constants = constants != nullptr ? constants->get() : nullptr;
  const etb_compile_args* given = &copy;
  BorrowedCopy borrowed(call, is_sound, "args", [&](ArgumentCopier& to) {
    etb_compile_args patched = copy;
    patched.backend_id = to.text(args->backend_id);
    patched.graphs = to.graphs(args->graphs, args->graph_count);
    patched.specs = to.specs(args->specs, args->spec_count);
    patched.target = to.target(args->target);
    patched.options = to.options(args->options, args->option_count);
    given = to.whole(&copy, patched);
  });

  const etb_status status = call.run(
      [&](etb_error* inner) { return instance->next->aot->compile(instance->plugin, given, inner); });
  borrowed.end();
  constants.reset();
  sink->guard.close(status);
  if (status == ETB_OK && sink->ended_count != args->graph_count)
    call.plugin("ABI-AOT-05", "{} payloads were ended, expected one for each of {} graphs", sink->ended_count,
                args->graph_count);
  state.retire(sink.get());
  if (progress != nullptr) {
    progress->close();
    state.retire(progress.get());
  }
  return call.finish(status);
}

}  // namespace etb::host::validate
