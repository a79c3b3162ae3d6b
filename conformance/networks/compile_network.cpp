// SPDX-License-Identifier: Apache-2.0
#include "conformance/networks/compile_network.hpp"

#include "partitioner_sdk/partition/plugin_compiler.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "partitioner_sdk/passes/pipeline.hpp"

namespace etb::conformance {
namespace {

void take_faults(const partition::Partition& partition, CompiledNetwork& out) {
  for (const partition::PluginError& error : partition.plugin_errors) out.faults.push_back(error.text);
  for (const partition::FailedClaim& claim : partition.failed_claims)
    out.faults.push_back(partition::to_text(claim));
  for (const partition::MethodAssignments& method : partition.assignments)
    for (const partition::GraphAssignments& graph : method)
      for (const partition::NodeAssignment& node : graph)
        ++(node.region != partition::kNoRegion || node.is_replaced ? out.claimed_nodes : out.left_nodes);
}

}  // namespace

host::ConstantBytes NetworkGraph::reader() const {
  return [this](const char* key) -> Result<std::span<const std::byte>> {
    const partition::KeyedConstant* const found = constants->find(key);
    if (found == nullptr) return make_error(Code::NOT_FOUND, std::string("no constant '") + key + "'");
    return found->bytes;
  };
}

Result<CompiledNetwork> compile_network(ir::Module module, Subject& subject,
                                        const passes::Evaluate& evaluate) {
  std::vector<std::unique_ptr<partition::Compiler>> compilers;
  ETB_ASSIGN(auto compiler, partition::PluginCompiler::make(subject.backend_id(), subject.backend_id(),
                                                            subject.table(), subject.handle()));
  passes::PipelineOptions pipeline;
  pipeline.evaluate = evaluate;
  passes::PipelineOptions for_plugin = pipeline;
  ETB_ASSIGN(const std::vector<std::string> preserved, compiler->preserved_ops());
  for_plugin.decompose.preserved.insert(preserved.begin(), preserved.end());
  for_plugin.quantized_constants = passes::QuantizedConstants::kKeep;
  compilers.push_back(std::move(compiler));
  ETB_TRY(passes::to_edge(module, for_plugin));
  ETB_TRY(passes::simplify(module, for_plugin));
  ETB_TRY(passes::make_row_major(module));
  const auto keys = std::make_shared<partition::ConstantKeys>();
  const std::span<ir::Module> modules(&module, 1);
  ETB_ASSIGN(partition::Partition partition,
             partition::partition(modules, compilers, partition::PartitionOptions{}, *keys));
  CompiledNetwork out;
  take_faults(partition, out);
  ETB_TRY(partition::lower(modules, partition));
  ETB_TRY(passes::to_edge(module, pipeline));  // preserved ops that no region has
  ETB_TRY(passes::to_portable(module, pipeline));
  std::vector<emit::Delegate> delegates;
  for (partition::Region& region : partition.regions) {
    delegates.push_back(
        {.id = subject.backend_id(), .payload = region.artifact.payload, .specs = region.artifact.specs});
    out.regions.push_back({std::move(region.image.image), keys});
  }
  std::vector<emit::NamedBytes> named;
  for (const partition::NamedBlob& blob : partition.blobs) {
    const bool is_constant = !blob.constant_key.empty();
    named.push_back(
        {blob.key, is_constant ? keys->find(blob.constant_key)->bytes : blob.bytes, blob.alignment});
  }
  emit::EmitOptions options;
  options.delegates = delegates;
  options.named_data = named;
  ETB_ASSIGN(const emit::Program program, emit::emit(modules, options));
  ETB_ASSIGN(out.program, emit::ProgramMemory::make(program));
  return out;
}

Result<NetworkGraph> make_network_graph(ir::Module module, const passes::Evaluate& evaluate) {
  passes::PipelineOptions pipeline;
  pipeline.evaluate = evaluate;
  ETB_TRY(passes::to_edge(module, pipeline));
  ETB_TRY(passes::simplify(module, pipeline));
  ETB_TRY(passes::make_row_major(module));
  const auto keys = std::make_shared<partition::ConstantKeys>();
  ETB_ASSIGN(partition::MethodImage made, partition::make_method_image(module, *keys));
  return NetworkGraph{std::move(made.image), keys};
}

}  // namespace etb::conformance
