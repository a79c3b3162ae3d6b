// SPDX-License-Identifier: Apache-2.0
// Nodes that one dispatch computes together: attention, and chains of functions of single elements.
#pragma once

#include "plugins/gpu/plan/attention.hpp"
#include "plugins/gpu/plan/chains.hpp"

namespace etb::gpu {

struct Fusions {
  Attentions attentions;
  Chains chains;

  bool empty() const { return attentions.all.empty() && chains.chains.empty(); }
  // The nodes that are computed with a node, ascending; none if it has a dispatch of its own.
  std::span<const uint32_t> nodes_with(uint32_t node) const {
    if (const Attention* const attention = attentions.find(node)) return attention->nodes;
    if (const Chain* const chain = chains.find(node)) return chain->nodes;
    return {};
  }
  // The node at which a node is computed: the last one of its fusion.
  uint32_t computed_at(uint32_t node) const {
    const std::span<const uint32_t> nodes = nodes_with(node);
    return nodes.empty() ? node : nodes.back();
  }
};

// `bounds`: upper bounds of the sizes of all values.
inline Fusions find_fusions(const GpuGraph& graph, std::span<const Shape> bounds, KernelFamily family) {
  Fusions found;
  found.attentions = find_attentions(graph, bounds, family);
  found.chains = find_chains(graph, bounds, found.attentions.of_node);
  return found;
}

}  // namespace etb::gpu
