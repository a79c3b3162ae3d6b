// SPDX-License-Identifier: Apache-2.0
// Nodes that one dispatch computes together: attention, chains of functions of single elements, and products with residuals.
#pragma once

#include "plugins/gpu/plan/attention.hpp"
#include "plugins/gpu/plan/chains.hpp"
#include "plugins/gpu/plan/residuals.hpp"

namespace etb::gpu {

struct Fusions {
  Attentions attentions;
  Chains chains;
  Residuals residuals;

  bool empty() const { return attentions.all.empty() && chains.chains.empty() && residuals.all.empty(); }
  // The nodes that are computed with a node, ascending; none if it has a dispatch of its own.
  std::span<const uint32_t> nodes_with(uint32_t node) const {
    if (const Attention* const attention = attentions.find(node)) return attention->nodes;
    if (const Chain* const chain = chains.find(node)) return chain->nodes;
    if (const Residual* const residual = residuals.find(node)) return residual->nodes;
    return {};
  }
  // The node at which a node is computed: the last one of its fusion.
  uint32_t computed_at(uint32_t node) const {
    const std::span<const uint32_t> nodes = nodes_with(node);
    return nodes.empty() ? node : nodes.back();
  }
  // True if a kernel of the node itself computes it: it is in no fusion, or a product with a residual.
  bool has_own_kernel(uint32_t node) const {
    const Residual* const residual = residuals.find(node);
    return residual != nullptr ? residual->product == node : nodes_with(node).empty();
  }
};

// `bounds`: upper bounds of the sizes of all values. `attends`: attention is one dispatch where the family has a kernel.
inline Fusions find_fusions(const GpuGraph& graph, std::span<const Shape> bounds, KernelFamily family,
                            bool attends) {
  Fusions found;
  if (attends) found.attentions = find_attentions(graph, bounds, family);
  found.chains = find_chains(graph, bounds, found.attentions.of_node);
  found.residuals = find_residuals(graph, bounds, found.attentions, found.chains);
  return found;
}

}  // namespace etb::gpu
