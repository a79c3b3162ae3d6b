// SPDX-License-Identifier: Apache-2.0
// Calls of the ahead-of-time table.
#include <algorithm>
#include <cstring>

#include "api/format/graph_verifier.hpp"
#include "etb/cpp/sink.hpp"
#include "host/layers/record/to_trace.hpp"
#include "host/layers/replay/compare.hpp"
#include "host/layers/replay/replayer.hpp"

namespace etb::host::replay {
namespace {

constexpr uint64_t kMaxPayloadNbytes = uint64_t{16} << 30;

// A graph image as plugins receive it: verified (ABI-GRAPH-01) and aligned.
Result<etb_graph_image> to_image(std::span<const std::byte> bytes) {
  const std::span<const uint8_t> raw{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  if (Status status = graph::verify_graph_image(raw); !status)
    return tl::make_unexpected(with_context(std::move(status).error(), "graph image"));
  return etb_graph_image{sizeof(etb_graph_image), 0, {bytes.data(), bytes.size()}};
}

// Arguments of partition, dry_check and estimate.
struct PartitionArgs {
  PartitionArgs(const format::TraceBegin& begin, const etb_graph_image& graph, const char* backend_id)
      : image(graph), target(begin.target), options(begin.options) {
    args.struct_size = sizeof(args);
    args.graph = &image;
    args.target = target.get();
    args.backend_id = backend_id;
    args.options = options.span().data();
    args.option_count = options.span().size();
  }
  PartitionArgs(const PartitionArgs&) = delete;
  PartitionArgs& operator=(const PartitionArgs&) = delete;

  etb_graph_image image;
  Target target;
  OptionList options;
  etb_partition_args args{};
};

// Receives claims and rejections.
class ClaimSink {
 public:
  ClaimSink() {
    sink_ = {sizeof(sink_), 0, &claims_,
             [](void* ctx, const etb_claim* claim) -> etb_status { return put(ctx, claim); },
             [](void* ctx, const etb_reject* reject) -> etb_status { return put(ctx, reject); }};
  }
  ClaimSink(const ClaimSink&) = delete;
  ClaimSink& operator=(const ClaimSink&) = delete;
  const etb_partition_sink* get() const { return &sink_; }
  const std::vector<format::TraceClaim>& claims() const { return claims_; }

 private:
  template <class T>
  static etb_status put(void* ctx, const T* item) {
    if (item == nullptr || item->struct_size < sizeof(*item)) return ETB_INVALID_ARGUMENT;
    static_cast<std::vector<format::TraceClaim>*>(ctx)->push_back(record::to_trace(*item));
    return ETB_OK;
  }
  std::vector<format::TraceClaim> claims_;
  etb_partition_sink sink_{};
};

// Receives payloads and what belongs to them.
class ArtifactSink {
 public:
  ArtifactSink() {
    sink_ = {sizeof(sink_),
             0,
             this,
             [](void* ctx, uint32_t graph_index, const etb_blob_writer** out) -> etb_status {
               auto& self = *static_cast<ArtifactSink*>(ctx);
               self.payload_ = &self.payloads[graph_index];
               if (out == nullptr) return ETB_INVALID_ARGUMENT;
               *out = &self.writer_;
               return ETB_OK;
             },
             [](void* ctx, const etb_named_blob* blob) -> etb_status {
               return static_cast<ArtifactSink*>(ctx)->add(blob);
             },
             [](void* ctx, const etb_artifact* artifact) -> etb_status {
               if (artifact == nullptr || artifact->struct_size < sizeof(*artifact))
                 return ETB_INVALID_ARGUMENT;
               static_cast<ArtifactSink*>(ctx)->artifacts.push_back(record::to_trace(*artifact));
               return ETB_OK;
             }};
    writer_ = {sizeof(writer_), 0, this,
               [](void* ctx, uint64_t offset, const void* data, uint64_t nbytes) -> etb_status {
                 return static_cast<ArtifactSink*>(ctx)->write(offset, data, nbytes);
               }};
  }
  ArtifactSink(const ArtifactSink&) = delete;
  ArtifactSink& operator=(const ArtifactSink&) = delete;
  const etb_artifact_sink* get() const { return &sink_; }

  std::vector<format::TraceArtifact> artifacts;
  std::map<uint32_t, std::vector<std::byte>> payloads;
  std::map<std::string, std::vector<std::byte>> named;
  std::map<std::string, std::string> named_constants;  // key of the constant whose bytes it has

 private:
  etb_status write(uint64_t offset, const void* data, uint64_t nbytes) {
    if (payload_ == nullptr || (data == nullptr && nbytes != 0)) return ETB_INVALID_STATE;
    if (nbytes > kMaxPayloadNbytes || offset > kMaxPayloadNbytes - nbytes) return ETB_OUT_OF_MEMORY;
    if (nbytes == 0) return ETB_OK;
    payload_->resize(std::max<size_t>(payload_->size(), offset + nbytes));
    std::memcpy(payload_->data() + offset, data, nbytes);
    return ETB_OK;
  }
  etb_status add(const etb_named_blob* blob) {
    if (blob == nullptr || blob->struct_size < sizeof(*blob) || blob->key == nullptr)
      return ETB_INVALID_ARGUMENT;
    if (blob->constant_key != nullptr) {
      named_constants[blob->key] = blob->constant_key;
      return ETB_OK;
    }
    const auto bytes = record::bytes_of(blob->value.data, blob->value.nbytes);
    named[blob->key].assign(bytes.begin(), bytes.end());
    return ETB_OK;
  }

  etb_artifact_sink sink_{};
  etb_blob_writer writer_{};
  std::vector<std::byte>* payload_ = nullptr;
};

}  // namespace

Status Replayer::op_table() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  std::vector<format::TraceOpRow> found;
  auto put = [&](const etb_op_capability& row) -> etb_status {
    found.push_back(record::to_trace(row));
    return ETB_OK;
  };
  const auto sink = sink_to<etb_op_sink>(put);
  const PluginContext& context = *live->context;
  if (call([&](etb_error* error) { return context.table().aot->op_table(context.handle(), &sink, error); }))
    differ(DifferenceKind::OPS, compare_ops(recorded().ops, found));
  return {};
}

Status Replayer::preserve_ops() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  ETB_TRY(expect_offered(live->context->table().aot->caps & ETB_AOT_CAP_PRESERVE_OPS));
  std::vector<std::string> found;
  auto put = [&](const char& text) -> etb_status {
    found.emplace_back(&text);
    return ETB_OK;
  };
  const auto sink = sink_to<etb_text_sink>(put);
  const PluginContext& context = *live->context;
  if (!call([&](etb_error* error) {
        return context.table().aot->preserve_ops(context.handle(), &sink, error);
      }))
    return {};
  std::vector<std::string> was = recorded().texts;
  std::sort(was.begin(), was.end());
  std::sort(found.begin(), found.end());
  if (was != found)
    differ(DifferenceKind::OPS, "preserve_ops: recorded " + std::to_string(was.size()) + " names; found " +
                                    std::to_string(found.size()) + ", not the same");
  return {};
}

Status Replayer::partition() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  if (begin().graphs.size() != 1) return make_error(Code::INVALID_DATA, "no graph, expected one");
  ETB_ASSIGN(const etb_graph_image image, to_image(now_.trace->blob(begin().graphs.front())));
  const PartitionArgs given(begin(), image, backend_id());
  const ClaimSink found;
  const PluginContext& context = *live->context;
  if (call([&](etb_error* error) {
        return context.table().aot->partition(context.handle(), &given.args, found.get(), error);
      }))
    differ(DifferenceKind::CLAIM, compare_claims(recorded().claims, found.claims()));
  return {};
}

Status Replayer::dry_check() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  if (begin().graphs.size() != 1) return make_error(Code::INVALID_DATA, "no graph, expected one");
  ETB_ASSIGN(const etb_graph_image image, to_image(now_.trace->blob(begin().graphs.front())));
  const PartitionArgs given(begin(), image, backend_id());
  const PluginContext& context = *live->context;
  ETB_TRY(expect_offered(context.table().aot->caps & ETB_AOT_CAP_DRY_CHECK));
  call(
      [&](etb_error* error) { return context.table().aot->dry_check(context.handle(), &given.args, error); });
  return {};
}

// Estimates are of a machine, so only the status is compared.
Status Replayer::estimate() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  if (begin().graphs.size() != 1) return make_error(Code::INVALID_DATA, "no graph, expected one");
  ETB_ASSIGN(const etb_graph_image image, to_image(now_.trace->blob(begin().graphs.front())));
  const PartitionArgs given(begin(), image, backend_id());
  const PluginContext& context = *live->context;
  ETB_TRY(expect_offered(context.table().aot->caps & ETB_AOT_CAP_ESTIMATE));
  etb_estimate found{};
  found.struct_size = sizeof(found);
  call([&](etb_error* error) {
    return context.table().aot->estimate(context.handle(), &given.args, &found, error);
  });
  return {};
}

Status Replayer::compile() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  if (recorded().status == ETB_CANCELLED) return make_error(Code::NOT_SUPPORTED, "its end depends on time");
  std::vector<etb_graph_image> images;
  for (const format::BlobNumber graph : begin().graphs) {
    ETB_ASSIGN(images.emplace_back(), to_image(now_.trace->blob(graph)));
  }
  const SpecList specs(begin().specs);
  const Target target(begin().target);
  const OptionList given(begin().options);
  DataReader data(*now_.trace, *now_.call);
  const etb_constant_reader constants{
      sizeof(etb_constant_reader), 0, &data,
      [](void* ctx, const char* name, etb_payload_view* out, etb_error* error) -> etb_status {
        return static_cast<DataReader*>(ctx)->read(name, out, error);
      }};
  ArtifactSink found;
  etb_compile_args args{};
  args.struct_size = sizeof(args);
  args.backend_id = backend_id();
  args.graphs = images.data();
  args.graph_count = images.size();
  args.specs = specs.span().data();
  args.spec_count = specs.span().size();
  args.target = target.get();
  args.constants = &constants;
  args.sink = found.get();
  args.options = given.span().data();
  args.option_count = given.span().size();
  const PluginContext& context = *live->context;
  const bool is_ok =
      call([&](etb_error* error) { return context.table().aot->compile(context.handle(), &args, error); });
  for (const std::string& name : data.take_missing())
    differ(DifferenceKind::DATA, "the plugin asks for constant '" + name + "', which is not in the trace");
  if (!is_ok) return {};
  CompiledCall& compiled = compiled_[key(begin().number)];
  compiled.named = std::move(found.named);
  for (const auto& [name, constant] : found.named_constants)
    if (const auto bytes = data.find(constant)) compiled.named[name].assign(bytes->begin(), bytes->end());
  for (const format::TraceArtifact& artifact : found.artifacts)
    compiled.specs[artifact.graph_index] = artifact.specs;
  compare_compiled(found.artifacts, std::move(found.payloads), compiled);
  return {};
}

void Replayer::compare_compiled(const std::vector<format::TraceArtifact>& found,
                                std::map<uint32_t, std::vector<std::byte>> payloads, CompiledCall& compiled) {
  for (size_t i = 0; i < recorded().artifacts.size(); ++i) {
    const format::TraceArtifact& was = recorded().artifacts[i];
    const std::string where = "graph " + std::to_string(was.graph_index) + ": ";
    const auto is = std::find_if(found.begin(), found.end(), [&](const format::TraceArtifact& artifact) {
      return artifact.graph_index == was.graph_index;
    });
    if (is == found.end()) {
      differ(DifferenceKind::PAYLOAD, where + "the plugin wrote no payload");
      continue;
    }
    std::vector<std::byte>& bytes = payloads[was.graph_index];
    const std::span<const std::byte> recorded_bytes = now_.trace->blob(was.payload);
    if (const std::string text = compare_bytes(recorded_bytes, bytes); !text.empty())
      differ(DifferenceKind::PAYLOAD, where + text);
    if (const std::string text = compare_specs(was.specs, is->specs); !text.empty())
      differ(DifferenceKind::PAYLOAD, where + text);
    const auto entry = payloads_.find(
        format::sha256({reinterpret_cast<const uint8_t*>(recorded_bytes.data()), recorded_bytes.size()}));
    if (entry != payloads_.end() && !entry->second.is_compiled) {
      entry->second.trace = now_.trace;
      entry->second.call = now_.call;
      entry->second.artifact = i;
      entry->second.bytes = std::move(bytes);
      entry->second.is_compiled = true;
    }
  }
  for (const format::TraceNamedBlob& was : recorded().named_blobs) {
    const auto is = compiled.named.find(was.key);
    const std::string where = "named data '" + was.key + "': ";
    if (is == compiled.named.end())
      differ(DifferenceKind::PAYLOAD, where + "the plugin wrote none");
    else if (was.constant_key.empty())
      if (const std::string text = compare_bytes(now_.trace->blob(was.value), is->second); !text.empty())
        differ(DifferenceKind::PAYLOAD, where + text);
  }
}

Result<Report> replay(std::span<const format::CallTrace* const> traces, const Options& options) {
  return Replayer(traces, options).run();
}

}  // namespace etb::host::replay
