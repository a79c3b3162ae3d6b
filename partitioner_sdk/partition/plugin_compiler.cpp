// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/plugin_compiler.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>

#include "etb/aot.h"
#include "etb/cpp/guard.hpp"
#include "partitioner_sdk/partition/artifact_collector.hpp"

namespace etb::partition {

namespace {

constexpr size_t kMaxPrefixBytes = 4096;
constexpr size_t kConstantAlignment = 16;

Status refuse_null(const uint32_t* nodes, uint32_t count) {
  if (nodes != nullptr || count == 0) return {};
  return make_error(Code::INVALID_DATA,
                    "an answer names " + std::to_string(count) + " nodes, but its list is NULL");
}

// Collects claims and rejections.
class AnswerSink {
 public:
  AnswerSink() {
    sink_.struct_size = ETB_INIT_SIZE(etb_partition_sink);
    sink_.ctx = this;
    sink_.claim = [](void* ctx, const etb_claim* claim) -> etb_status {
      auto& self = *static_cast<AnswerSink*>(ctx);
      return self.note(self.take(claim));
    };
    sink_.reject = [](void* ctx, const etb_reject* reject) -> etb_status {
      auto& self = *static_cast<AnswerSink*>(ctx);
      return self.note(self.take(reject));
    };
  }
  AnswerSink(const AnswerSink&) = delete;
  AnswerSink& operator=(const AnswerSink&) = delete;

  const etb_partition_sink* sink() const { return &sink_; }
  Result<Answers> finish() {
    if (!failure_) return tl::make_unexpected(failure_.error());
    return std::move(answers_);
  }

 private:
  Status take(const etb_claim* claim) {
    ETB_TRY(accept_struct(claim, ETB_SIZE_THROUGH(etb_claim, cost_ns), UINT32_MAX, "etb_claim"));
    ETB_TRY(refuse_null(claim->node_ids, claim->node_count));
    answers_.claims.push_back(
        {{claim->node_ids, claim->node_ids + claim->node_count}, claim->flags, claim->group, claim->cost_ns});
    return {};
  }
  Status take(const etb_reject* reject) {
    ETB_TRY(ETB_ACCEPT(etb_reject, reject, text));
    ETB_TRY(refuse_null(reject->node_ids, reject->node_count));
    answers_.rejects.push_back({{reject->node_ids, reject->node_ids + reject->node_count},
                                reject->reason == nullptr ? "" : reject->reason,
                                reject->text == nullptr ? "" : reject->text});
    return {};
  }
  etb_status note(Status status) {
    if (failure_ && !status) failure_ = std::move(status);
    return failure_ ? ETB_OK : static_cast<etb_status>(failure_.error().code);
  }

  etb_partition_sink sink_{};
  Answers answers_;
  Status failure_;
};

// Constants as a plugin reads them: the bytes in place, or a copy if they are misaligned.
class ConstantReader {
 public:
  explicit ConstantReader(const ConstantKeys& keys) : keys_(keys) {
    reader_.struct_size = ETB_INIT_SIZE(etb_constant_reader);
    reader_.ctx = this;
    reader_.read = [](void* ctx, const char* key, etb_payload_view* out, etb_error* error) -> etb_status {
      return guard(error, [&] { return static_cast<ConstantReader*>(ctx)->read(key, out); });
    };
  }
  ConstantReader(const ConstantReader&) = delete;
  ConstantReader& operator=(const ConstantReader&) = delete;
  ~ConstantReader() {
    for (void* copy : copies_) ::operator delete (copy, std::align_val_t{kConstantAlignment});
  }
  const etb_constant_reader* get() const { return &reader_; }

 private:
  Status read(const char* key, etb_payload_view* out) {
    if (key == nullptr || out == nullptr || !ETB_HAS_FIELD(etb_payload_view, out, release))
      return make_error(Code::INVALID_ARGUMENT,
                        "constant: key or view is NULL, or the view is smaller than in version 1.0");
    const KeyedConstant* constant = keys_.find(key);
    if (constant == nullptr)
      return make_error(Code::NOT_FOUND, "unknown constant '" + std::string(key) + "'");
    const std::byte* data = constant->bytes.data();
    if (reinterpret_cast<uintptr_t>(data) % kConstantAlignment != 0) {
      const std::lock_guard lock(mutex_);
      const auto [place, is_new] = copied_.emplace(constant->key, nullptr);
      if (is_new) {
        copies_.push_back(::operator new (constant->bytes.size(), std::align_val_t{kConstantAlignment}));
        std::memcpy(copies_.back(), data, constant->bytes.size());
        place->second = static_cast<const std::byte*>(copies_.back());
      }
      data = place->second;
    }
    out->data = data;
    out->nbytes = constant->bytes.size();
    out->alignment = kConstantAlignment;
    out->fd = -1;
    out->fd_offset_bytes = 0;
    out->release_ctx = nullptr;
    out->release = nullptr;
    return {};
  }

  const ConstantKeys& keys_;
  etb_constant_reader reader_{};
  std::mutex mutex_;  // the function may be called on any thread
  std::map<std::string, const std::byte*> copied_;
  std::deque<void*> copies_;
};

}  // namespace

Result<std::unique_ptr<PluginCompiler>> PluginCompiler::make(std::string name, std::string backend_id,
                                                             const etb_plugin_table& table,
                                                             etb_plugin* plugin,
                                                             PluginCompilerOptions options) {
  if (table.aot == nullptr)
    return make_error(Code::NOT_SUPPORTED, "plugin '" + name + "' implements no ahead-of-time functions");
  return std::unique_ptr<PluginCompiler>(
      new PluginCompiler(std::move(name), std::move(backend_id), table, plugin, std::move(options)));
}

Result<std::vector<std::string>> PluginCompiler::preserved_ops() {
  std::vector<std::string> ops;
  if ((table_.aot->caps & ETB_AOT_CAP_PRESERVE_OPS) == 0) return ops;
  const etb_text_sink sink = {ETB_INIT_SIZE(etb_text_sink), 0, &ops,
                              [](void* ctx, const char* text) -> etb_status {
                                if (text == nullptr) return ETB_INVALID_ARGUMENT;
                                static_cast<std::vector<std::string>*>(ctx)->emplace_back(text);
                                return ETB_OK;
                              }};
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(table_.aot->preserve_ops(plugin_, &sink, &error), error));
  return ops;
}

etb_partition_args PluginCompiler::arguments_for(const etb_graph_image& image) const {
  etb_partition_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_partition_args);
  args.graph = &image;
  args.target = options_.target == nullptr ? nullptr : &options_.target->target();
  args.backend_id = backend_id().c_str();
  args.options = options_.options.data();
  args.option_count = options_.options.size();
  return args;
}

Result<Answers> PluginCompiler::partition(const graph::ImageBytes& method) {
  const etb_graph_image image = method.to_c();
  const etb_partition_args args = arguments_for(image);
  AnswerSink answers;
  etb_error error = ETB_ERROR_INIT;
  const Status asked = check(table_.aot->partition(plugin_, &args, answers.sink(), &error), error);
  // An error in the answers is more precise than the status that followed from it.
  ETB_ASSIGN(Answers got, answers.finish());
  ETB_TRY(asked);
  return got;
}

Status PluginCompiler::check_before(std::span<const graph::ImageBytes* const> regions) {
  if ((table_.aot->caps & ETB_AOT_CAP_DRY_CHECK) == 0) return {};
  for (size_t i = 0; i < regions.size(); ++i) {
    const etb_graph_image image = regions[i]->to_c();
    const etb_partition_args args = arguments_for(image);
    etb_error error = ETB_ERROR_INIT;
    const Status fits = check(table_.aot->dry_check(plugin_, &args, &error), error);
    if (!fits)
      return tl::make_unexpected(with_context(fits.error(), "dry check of region " + std::to_string(i)));
  }
  return {};
}

// A plugin without an answer leaves the region without an estimate.
void PluginCompiler::estimate(std::span<const graph::ImageBytes* const> regions, Compiled& compiled) {
  if ((table_.aot->caps & ETB_AOT_CAP_ESTIMATE) == 0) return;
  for (size_t i = 0; i < regions.size(); ++i) {
    const etb_graph_image image = regions[i]->to_c();
    const etb_partition_args args = arguments_for(image);
    etb_estimate found{};
    found.struct_size = ETB_INIT_SIZE(etb_estimate);
    etb_error error = ETB_ERROR_INIT;
    if (!check(table_.aot->estimate(plugin_, &args, &found, &error), error)) continue;
    compiled.artifacts[i].estimate = {found.latency_ns, found.confidence, found.moved_bytes, found.peak_bytes,
                                      found.energy_nj};
  }
}

Status PluginCompiler::check_payloads(const Compiled& compiled) {
  if (table_.delegate == nullptr) return {};
  for (size_t i = 0; i < compiled.artifacts.size(); ++i) {
    const Artifact& artifact = compiled.artifacts[i];
    std::vector<etb_compile_spec> specs;
    for (const auto& [key, value] : artifact.specs)
      specs.push_back({ETB_INIT_SIZE(etb_compile_spec), 0, key.c_str(), {value.data(), value.size()}});
    etb_payload_check check_args{};
    check_args.struct_size = ETB_INIT_SIZE(etb_payload_check);
    check_args.backend_id = backend_id().c_str();
    std::vector<std::byte> prefix(artifact.payload.begin(),
                                  artifact.payload.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                 artifact.payload.size(), kMaxPrefixBytes)));
    check_args.prefix = {prefix.data(), prefix.size()};
    check_args.payload_nbytes = artifact.payload.size();
    check_args.specs = specs.data();
    check_args.spec_count = specs.size();
    etb_verdict verdict{};
    verdict.struct_size = ETB_INIT_SIZE(etb_verdict);
    etb_error error = ETB_ERROR_INIT;
    ETB_TRY(check(table_.delegate->check_payload(plugin_, &check_args, &verdict, &error), error));
    if (verdict.kind != ETB_VERDICT_UNSUPPORTED) continue;
    return make_error(Code::INVALID_DATA,
                      "rejects its own payload of region " + std::to_string(i) + ": " +
                          std::string(verdict.text, strnlen(verdict.text, sizeof verdict.text)));
  }
  return {};
}

namespace {

// A CompileWatch in the form of the ABI.
class WatchForPlugin {
 public:
  explicit WatchForPlugin(const CompileWatch& watch) {
    void* const self = const_cast<CompileWatch*>(&watch);
    if (watch.report) progress_ = {ETB_INIT_SIZE(etb_progress), 0, self, &report};
    if (watch.is_cancelled) cancel_ = {ETB_INIT_SIZE(etb_cancel_token), 0, self, &is_cancelled};
  }
  const etb_progress* progress() const { return progress_.report == nullptr ? nullptr : &progress_; }
  const etb_cancel_token* cancel() const { return cancel_.is_cancelled == nullptr ? nullptr : &cancel_; }

 private:
  static void ETB_CALL report(void* ctx, double done, const char* what) {
    const double share = done >= 0 ? std::min(done, 1.0) : 0;  // also of a NaN
    static_cast<const CompileWatch*>(ctx)->report(share, what == nullptr ? "" : what);
  }
  static uint32_t ETB_CALL is_cancelled(void* ctx) {
    return static_cast<const CompileWatch*>(ctx)->is_cancelled() ? 1 : 0;
  }

  etb_progress progress_{};
  etb_cancel_token cancel_{};
};

}  // namespace

Result<Compiled> PluginCompiler::compile(std::span<const graph::ImageBytes* const> regions,
                                         const ConstantKeys& constants) {
  ETB_TRY(check_before(regions));
  std::vector<etb_graph_image> images;
  for (const graph::ImageBytes* region : regions) images.push_back(region->to_c());
  std::vector<etb_compile_spec> specs;
  for (const auto& [key, value] : options_.specs)
    specs.push_back({ETB_INIT_SIZE(etb_compile_spec), 0, key.c_str(), {value.data(), value.size()}});
  const ConstantReader reader(constants);
  ArtifactCollector collector(regions.size(), constants);
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.target = options_.target == nullptr ? nullptr : &options_.target->target();
  args.backend_id = backend_id().c_str();
  args.options = options_.options.data();
  args.option_count = options_.options.size();
  args.graphs = images.data();
  args.graph_count = images.size();
  args.specs = specs.data();
  args.spec_count = specs.size();
  args.constants = reader.get();
  args.sink = &collector.sink();
  const WatchForPlugin watch(options_.watch);
  args.progress = watch.progress();
  args.cancel = watch.cancel();
  etb_error error = ETB_ERROR_INIT;
  const Status done = check(table_.aot->compile(plugin_, &args, &error), error);
  // An error in the artifacts is more precise than the status that followed from it.
  ETB_TRY(collector.failure());
  ETB_TRY(done);
  auto compiled = collector.finish();
  if (compiled) {
    ETB_TRY(check_payloads(*compiled));
    estimate(regions, *compiled);
  }
  return compiled;
}

}  // namespace etb::partition
