// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/graph_facts.hpp"

namespace etb::xnnpack {

GraphFacts::GraphFacts(const Graph& graph)
    : use_counts(graph.value_count(), 0),
      producers(graph.value_count(), kXnnNoValue),
      readers(graph.value_count(), kXnnNoValue) {
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.gives_numbers()) continue;  // sizes, which XNNPACK reads from the tensors
    for (const Value& operand : node.operands()) {
      ++use_counts[operand.id()];
      readers[operand.id()] = i;
    }
    for (uint32_t o = 0; o < node.output_count(); ++o) producers[node.first_output() + o] = i;
  }
  for (uint32_t i = 0; i < graph.output_count(); ++i) ++use_counts[graph.output(i).id()];
}

}  // namespace etb::xnnpack
