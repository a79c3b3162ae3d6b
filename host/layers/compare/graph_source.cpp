// SPDX-License-Identifier: Apache-2.0
#include "host/layers/compare/graph_source.hpp"

#include "api/format/graph_verifier.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::host {
namespace {

OutputNode node_of(const graph::Graph& method, uint32_t value) {
  OutputNode out;
  out.name = method.value(value).name();
  for (const graph::Node& node : method.nodes()) {
    if (value < node.first_output() || value >= node.first_output() + node.output_count()) continue;
    out.op = node.op_name();
    out.debug_handle = node.debug_handle();
    if (const auto source = node.source(); source && source->file != nullptr)
      out.source = std::string(source->file) + ":" + std::to_string(source->line);
  }
  return out;
}

Result<SourceGraph> read_graph(const format::CallTrace& trace, const format::TracedCallRecord& call,
                               std::span<const std::byte> image) {
  SourceGraph out;
  out.image = image;
  const std::span<const uint8_t> raw{reinterpret_cast<const uint8_t*>(image.data()), image.size()};
  ETB_TRY(graph::verify_graph_image(raw));
  ETB_ASSIGN(const graph::View view, graph::View::open(raw));
  const graph::Graph method = view.method();
  for (const etb_graph_output& output : method.outputs())
    out.outputs.push_back(node_of(method, output.value));
  for (const format::TraceRead& read : call.reads)
    if (read.status == ETB_OK && read.data != 0) out.constants[read.key] = trace.blob(read.data);
  return out;
}

}  // namespace

format::Sha256 payload_digest(std::span<const std::byte> bytes) {
  return format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

Result<GraphSource> GraphSource::open(const std::string& path) {
  GraphSource source;
  ETB_ASSIGN(format::CallTraceFile file, format::CallTraceFile::open(path));
  source.file_ = std::make_unique<format::CallTraceFile>(std::move(file));
  const format::CallTrace& trace = source.file_->trace();
  for (const format::TracedCallRecord& call : trace.calls)
    for (const format::TraceArtifact& artifact : call.end.artifacts) {
      if (artifact.graph_index >= call.begin.graphs.size()) continue;
      const std::span<const std::byte> image = trace.blob(call.begin.graphs[artifact.graph_index]);
      Result<SourceGraph> graph = read_graph(trace, call, image);
      if (!graph)
        return tl::make_unexpected(with_context(
            std::move(graph).error(), "'" + path + "': graph of call " + std::to_string(call.begin.number)));
      source.graphs_[payload_digest(trace.blob(artifact.payload))].push_back(*std::move(graph));
    }
  if (source.graphs_.empty())
    return make_error(Code::INVALID_DATA,
                      "'" + path +
                          "': the trace has no compilation\nhint: record one with `etbackend compile "
                          "... --layer trace=FILE`");
  return source;
}

const SourceGraph* GraphSource::find(const format::Sha256& payload, uint64_t nth) const {
  const auto found = graphs_.find(payload);
  return found == graphs_.end() ? nullptr : &found->second[nth % found->second.size()];
}

}  // namespace etb::host
