// SPDX-License-Identifier: Apache-2.0
// Compiles a region into a payload.
#include "plugins/gpu/compile/graph_lowering.hpp"
#include "plugins/gpu/compile/target.hpp"

namespace etb::gpu {

Result<Artifact> compile_region(const Region& region) {
  const Graph& graph = region.graph();
  const GraphFacts facts(graph);
  ETB_ASSIGN(const uint64_t value_limit, value_limit_of(region.target()));
  GraphLowering lowering(graph, facts, &region, value_limit);
  ETB_TRY(lowering.add_inputs());
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.gives_numbers()) continue;
    if (Status lowered = lowering.lower(node); !lowered) {
      return tl::make_unexpected(
          with_context(std::move(lowered).error(),
                       "node " + std::to_string(node.id()) + " (" + std::string(node.op_name()) + ")"));
    }
  }
  ETB_TRY(lowering.add_outputs());
  return lowering.finish();
}

}  // namespace etb::gpu
