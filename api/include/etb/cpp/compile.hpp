// SPDX-License-Identifier: Apache-2.0
//
// The ahead-of-time half of the plugin base: targets, regions and artifacts; op_row.hpp has op rows and claims.
// etb/cpp/plugin.hpp calls it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "etb/aot.h"
#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/guard.hpp"
#include "etb/cpp/op_row.hpp"
#include "etb/cpp/option.hpp"
#include "etb/cpp/payload.hpp"
#include "etb/cpp/tensor.hpp"

namespace etb {

// Sink of claims and rejections for a plugin that partitions by itself (P::partition): patterns of several
// nodes, costs of groups.
class PartitionSink {
 public:
  explicit PartitionSink(const etb_partition_sink& raw) : raw_(&raw) {}

  // Nodes of one group belong together; 0: each node by itself. `claim` has the flags and the cost.
  Status claim(std::span<const uint32_t> node_ids, const Claim& claim, uint32_t group = 0) const {
    const etb_claim item{ETB_INIT_SIZE(etb_claim),
                         claim.flags,
                         node_ids.data(),
                         static_cast<uint32_t>(node_ids.size()),
                         group,
                         claim.cost_ns};
    return from_host(raw_->claim(raw_->ctx, &item), "partition sink");
  }
  Status reject(std::span<const uint32_t> node_ids, const Claim& claim) const {
    const etb_reject item{ETB_INIT_SIZE(etb_reject),
                          0,
                          node_ids.data(),
                          static_cast<uint32_t>(node_ids.size()),
                          0,
                          claim.reason,
                          claim.text.c_str()};
    return from_host(raw_->reject(raw_->ctx, &item), "partition sink");
  }

 private:
  const etb_partition_sink* raw_;
};

// Target of a compilation: a device that this machine may lack. A view: valid for the call.
class Target {
 public:
  Target() = default;

  // `raw` NULL: the plugin's default.
  static Result<Target> make(const etb_target* raw) {
    Target out;
    if (raw == nullptr) return out;
    ETB_TRY(ETB_ACCEPT(etb_target, raw, attribute_count));
    if (raw->kind == nullptr || raw->name == nullptr)
      return make_error(Code::INVALID_ARGUMENT, "target: kind or name is NULL");
    for (uint64_t i = 0; i < raw->attribute_count; ++i) {
      const etb_option* attribute = ETB_AT(etb_option, raw->attributes, i);
      ETB_TRY(ETB_ACCEPT(etb_option, attribute, items));
      if (attribute->key == nullptr)
        return make_error(Code::INVALID_ARGUMENT, "target: attribute without a key");
    }
    out.raw_ = raw;
    return out;
  }

  bool is_default() const { return raw_ == nullptr; }
  std::string_view kind() const { return raw_ == nullptr ? "" : raw_->kind; }  // "" for the plugin's default
  std::string_view name() const { return raw_ == nullptr ? "" : raw_->name; }  // likewise
  // Returns an attribute, NULL if the target has none of this key.
  const etb_option* find(std::string_view key) const {
    for (uint64_t i = raw_ == nullptr ? 0 : raw_->attribute_count; i-- > 0;)
      if (const etb_option* found = ETB_AT(etb_option, raw_->attributes, i); key == found->key) return found;
    return nullptr;
  }
  // Returns an integer attribute, or `otherwise` if the target has none. Error: it has another type.
  Result<int64_t> get_i64(std::string_view key, int64_t otherwise) const {
    const etb_option* const found = find(key);
    if (found == nullptr) return otherwise;
    if (found->type == ETB_OPTION_I64) return found->i64;
    return make_error(Code::INVALID_ARGUMENT, "target: attribute '" + std::string(key) +
                                                  "': " + option_type_text(found->type) + ", expected i64");
  }
  const etb_target* raw() const { return raw_; }

 private:
  const etb_target* raw_ = nullptr;
};

// Target and options of a compilation. The claims, the dry check, the estimate and the compilation of one program
// get equal ones. A view: valid for the call.
class CompileRequest {
 public:
  // `args` is an etb_partition_args or an etb_compile_args.
  template <class Args>
  static Result<CompileRequest> make(const Args& args, std::span<const OptionRow> rows) {
    CompileRequest out;
    ETB_ASSIGN(out.target_, Target::make(args.target));
    ETB_ASSIGN(out.options_, Options::make(args.options, args.option_count, rows, ETB_OBJECT_PLUGIN));
    if (args.backend_id != nullptr) out.backend_id_ = args.backend_id;
    return out;
  }

  const Target& target() const { return target_; }
  const Options& options() const { return options_; }
  std::string_view backend_id() const { return backend_id_; }

 private:
  Target target_;
  Options options_;
  std::string_view backend_id_;
};

// Estimated cost of one run of a region; 0: unknown.
struct Estimate {
  double latency_ns = 0;
  double confidence = 0;  // 0 to 1
  uint64_t moved_bytes = 0;
  uint64_t peak_bytes = 0;
  double energy_nj = 0;
};

// Result of compiling one region.
struct Artifact {
  struct NamedBlob {
    std::string key;
    std::vector<std::byte> value = {};
    std::string constant_key = {};  // not empty: the bytes are this constant's, and value stays empty
    uint64_t alignment = 0;         // a power of two, 0: the host's choice
  };
  // Maps the name or id of an event to debug handles of the graph's nodes.
  struct DebugEntry {
    std::string name;       // "": debug_id is the id
    int64_t debug_id = -1;  // -1: name is the id
    std::vector<uint32_t> handles = {};
  };

  std::vector<std::byte> payload = {};
  uint32_t format_version = 1;
  std::vector<NamedBlob> named_blobs = {};  // the payload's named data, stored once per key
  std::vector<std::pair<std::string, std::string>> specs = {};
  std::vector<DebugEntry> debug_map = {};
  uint64_t scratch_bytes = 0;
  uint64_t resident_bytes = 0;
};

// One region to compile.
class Region {
 public:
  // `index`: of the region among those of the call.
  Region(const Graph& graph, const CompileSpecs& specs, const CompileRequest& request,
         const etb_compile_args& args, uint64_t index = 0)
      : graph_(&graph), specs_(specs), request_(request), args_(&args), index_(index) {}

  const Graph& graph() const { return *graph_; }
  const CompileSpecs& specs() const { return specs_; }
  const CompileRequest& request() const { return request_; }
  const Options& options() const { return request_.options(); }
  std::string_view backend_id() const { return request_.backend_id(); }
  const Target& target() const { return request_.target(); }

  // Returns true if the user wants to stop, for example by Ctrl-C; compile then returns Code::CANCELLED. Ask it in loops
  // that may take longer than a second. Any thread may call it.
  bool is_cancelled() const {
    return args_->cancel != nullptr && args_->cancel->is_cancelled(args_->cancel->ctx) != 0;
  }
  // Reports how much of this region is done, from 0 to 1 and never less than before, and the present step, for
  // people. The end of a region is reported without it. One thread at a time may call it.
  void report(double done, const char* step) const {
    if (args_->progress == nullptr) return;
    const auto count = static_cast<double>(args_->graph_count);
    args_->progress->report(args_->progress->ctx, (static_cast<double>(index_) + done) / count, step);
  }

  // Returns the bytes of a constant by its key in the image, valid until compile returns.
  Result<Payload> read_constant(const char* key) const {
    const etb_constant_reader* reader = args_->constants;
    if (reader == nullptr)
      return make_error(Code::NOT_FOUND, "constant '" + std::string(key) + "': the host gave no reader");
    etb_payload_view view{};
    view.struct_size = ETB_INIT_SIZE(etb_payload_view);
    etb_error error = ETB_ERROR_INIT;
    ETB_TRY(check(reader->read(reader->ctx, key, &view, &error), error));
    return Payload::make(&view);
  }

 private:
  const Graph* graph_;
  CompileSpecs specs_;
  CompileRequest request_;
  const etb_compile_args* args_;
  uint64_t index_;
};

namespace detail {

// Opens an image that the host passed.
inline Result<graph::View> open_graph(const etb_graph_image* image) {
  ETB_TRY(ETB_ACCEPT(etb_graph_image, image, image));
  return graph::View::open(*image);
}

}  // namespace detail

// Returns the claim of plugin type P for one node: its op row first, then P::claim when P has one.
template <class P>
Claim claim_node(const P& plugin, const Node& node, const CompileRequest& request) {
  const OpRow* row = detail::find_row(P::kOps, node.op_name());
  if (row == nullptr) return Claim::no("op", std::string(node.op_name()) + ": not in the op table");
  if (Claim claim = detail::check_row(node, *row); !claim.is_claimed) return claim;
  if constexpr (requires { plugin.claim(node, request); })
    return plugin.claim(node, request);
  else if constexpr (requires { plugin.claim(node); })
    return plugin.claim(node);
  else
    return Claim::yes();
}

// Passes the ops that the exporter must not decompose to the sink.
inline Status put_texts(std::span<const char* const> texts, const etb_text_sink* sink) {
  ETB_TRY(ETB_ACCEPT(etb_text_sink, sink, put));
  for (const char* text : texts) ETB_TRY(from_host(sink->put(sink->ctx, text), "text sink"));
  return {};
}

template <class P>
concept PartitionsForRequest = requires(const P plugin, const Graph& graph, const CompileRequest& request,
                                        const PartitionSink& sink) {
  plugin.partition(graph, request, sink);
};
template <class P>
concept PartitionsByItself = PartitionsForRequest<P> ||
    requires(const P plugin, const Graph& graph, const PartitionSink& sink) {
  plugin.partition(graph, sink);
};
template <class P>
concept ChecksRegions = requires(const P plugin, const Graph& graph, const CompileRequest& request) {
  plugin.dry_check(graph, request);
};
template <class P>
concept EstimatesRegions = requires(const P plugin, const Graph& graph, const CompileRequest& request) {
  plugin.estimate(graph, request);
};

// Claims or rejects every node of every graph of an image (rule ABI-AOT-01).
template <class P>
Status partition_graph(const P& plugin, const etb_graph_image* image, const CompileRequest& request,
                       const etb_partition_sink* raw_sink) {
  ETB_TRY(ETB_ACCEPT(etb_partition_sink, raw_sink, reject));
  ETB_ASSIGN(const graph::View view, detail::open_graph(image));
  const PartitionSink sink(*raw_sink);
  for (uint32_t g = 0; g < view.graph_count(); ++g) {
    const Graph graph = view.graph(g);
    if constexpr (PartitionsForRequest<P>) {
      ETB_TRY(plugin.partition(graph, request, sink));
    } else if constexpr (PartitionsByItself<P>) {
      ETB_TRY(plugin.partition(graph, sink));
    } else {
      for (uint32_t i = 0; i < graph.node_count(); ++i) {
        const Node node = graph.node(i);
        const uint32_t id = node.id();
        const Claim claim = claim_node(plugin, node, request);
        ETB_TRY(claim.is_claimed ? sink.claim({&id, 1}, claim) : sink.reject({&id, 1}, claim));
      }
    }
  }
  return {};
}

// Passes one artifact to the host.
inline Status put_artifact(const Artifact& artifact, uint32_t graph_index, const etb_artifact_sink& sink) {
  const etb_blob_writer* writer = nullptr;
  ETB_TRY(from_host(sink.begin_payload(sink.ctx, graph_index, &writer), "artifact sink"));
  std::vector<const char*> keys;
  for (const Artifact::NamedBlob& blob : artifact.named_blobs) {
    const etb_named_blob item{ETB_INIT_SIZE(etb_named_blob),
                              0,
                              blob.key.c_str(),
                              {blob.value.data(), blob.value.size()},
                              blob.constant_key.empty() ? nullptr : blob.constant_key.c_str(),
                              blob.alignment};
    ETB_TRY(from_host(sink.named_blob(sink.ctx, &item), "artifact sink"));
    keys.push_back(blob.key.c_str());
  }
  std::vector<etb_compile_spec> specs;
  for (const auto& [key, value] : artifact.specs)
    specs.push_back({ETB_INIT_SIZE(etb_compile_spec), 0, key.c_str(), {value.data(), value.size()}});

  std::vector<etb_debug_entry> debug_map;
  for (const Artifact::DebugEntry& entry : artifact.debug_map)
    debug_map.push_back({ETB_INIT_SIZE(etb_debug_entry), 0, entry.debug_id,
                         entry.name.empty() ? nullptr : entry.name.c_str(), entry.handles.data(),
                         entry.handles.size()});

  ETB_TRY(from_host(writer->write(writer->ctx, 0, artifact.payload.data(), artifact.payload.size()),
                    "payload writer"));
  etb_artifact item{};
  item.struct_size = ETB_INIT_SIZE(etb_artifact);
  item.graph_index = graph_index;
  item.format_version = artifact.format_version;
  item.named_keys = keys.data();
  item.named_key_count = keys.size();
  item.scratch_bytes = artifact.scratch_bytes;
  item.resident_bytes = artifact.resident_bytes;
  item.specs = specs.data();
  item.spec_count = specs.size();
  item.debug_map = debug_map.data();
  item.debug_entry_count = debug_map.size();
  return from_host(sink.end_payload(sink.ctx, &item), "artifact sink");
}

// Checks that every node of a region is claimed by the plugin, or added by the host to compute a number. A
// plugin that partitions by itself checks that in its compile.
template <class P>
Status check_claimed(const P& plugin, const Graph& graph, const CompileRequest& request) {
  if constexpr (!PartitionsByItself<P>) {
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      const Node node = graph.node(i);
      if (node.gives_numbers()) continue;
      if (const Claim claim = claim_node(plugin, node, request); !claim.is_claimed)
        return make_error(Code::NOT_SUPPORTED, "node " + std::to_string(node.id()) + " (" +
                                                   std::string(node.op_name()) + "): " + claim.reason + ": " +
                                                   claim.text);
    }
  }
  return {};
}

// Rejects a compile spec whose key P::kCompileSpecs does not list: to ignore one drops what the user asked for.
template <class P>
Status check_compile_specs(const CompileSpecs& specs) {
  for (uint64_t i = 0; i < specs.count(); ++i) {
    bool is_known = false;
    std::string known;
    if constexpr (requires { P::kCompileSpecs; })
      for (const std::string_view key : P::kCompileSpecs) {
        is_known = is_known || specs.key(i) == key;
        (known += known.empty() ? ", expected " : " or ") += key;
      }
    if (!is_known)
      return make_error(Code::INVALID_ARGUMENT,
                        "compile spec '" + std::string(specs.key(i)) + "': unknown" +
                            (known.empty() ? std::string(", the plugin has no compile specs") : known));
  }
  return {};
}

// Compiles every region with P::compile.
template <class P>
Status compile_regions(const P& plugin, const etb_compile_args* args,
                       std::span<const OptionRow> option_rows) {
  ETB_TRY(ETB_ACCEPT(etb_compile_args, args, cancel));
  ETB_TRY(ETB_ACCEPT(etb_artifact_sink, args->sink, end_payload));
  if (args->constants != nullptr) ETB_TRY(ETB_ACCEPT(etb_constant_reader, args->constants, read));
  ETB_ASSIGN(const CompileSpecs specs, CompileSpecs::make(args->specs, args->spec_count));
  ETB_TRY(check_compile_specs<P>(specs));
  ETB_ASSIGN(const CompileRequest request, CompileRequest::make(*args, option_rows));
  for (uint64_t i = 0; i < args->graph_count; ++i) {
    if (args->cancel != nullptr && args->cancel->is_cancelled(args->cancel->ctx) != 0)
      return make_error(Code::CANCELLED, "the host cancelled the compilation");
    ETB_ASSIGN(const graph::View view, detail::open_graph(ETB_AT(etb_graph_image, args->graphs, i)));
    const Graph graph = view.method();
    const auto compile = [&]() -> Result<Artifact> {
      ETB_TRY(check_claimed(plugin, graph, request));
      return plugin.compile(Region(graph, specs, request, *args, i));
    };
    const Result<Artifact> artifact = compile();
    if (!artifact) return tl::make_unexpected(with_context(artifact.error(), "region " + std::to_string(i)));
    ETB_TRY(put_artifact(*artifact, static_cast<uint32_t>(i), *args->sink));
    if (args->progress != nullptr)
      args->progress->report(args->progress->ctx,
                             static_cast<double>(i + 1) / static_cast<double>(args->graph_count), "compile");
  }
  return {};
}

}  // namespace etb
