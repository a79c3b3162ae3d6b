// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/reader_copies.hpp"

#include <algorithm>
#include <unordered_set>

#include "partitioner_sdk/passes/purity.hpp"

namespace etb::partition {

namespace {

constexpr std::string_view kDequantise = "quantized_decomposed.dequantize_";

void add_once(std::vector<uint32_t>& to, uint32_t node) {
  if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
}

}  // namespace

ReaderCopies::ReaderCopies(const ir::Module& module, const GraphFacts& facts) {
  const ir::Graph& graph = module.graphs[facts.index];
  kind_.assign(graph.nodes.size(), Kind::kNone);
  needs_.resize(graph.nodes.size());
  readers_.resize(graph.nodes.size());
  is_output_.assign(graph.nodes.size(), false);
  for (const ir::Output& output : graph.outputs)
    ir::for_each_value(output.value, [&](ir::ValueId id) {
      if (facts.definer[id] != ir::kNone) is_output_[facts.definer[id]] = true;
    });
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    bool has_operand = false, is_of_constants = true;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](ir::ValueId id) {
        has_operand = true;
        const uint32_t definer = facts.definer[id];
        if (definer == ir::kNone) {
          is_of_constants = is_of_constants && facts.constants[id] != nullptr;
          return;
        }
        is_of_constants = is_of_constants && kind_[definer] == Kind::kOfConstants;
        add_once(needs_[i], definer);
      });
    }
    for (const uint32_t definer : needs_[i]) readers_[definer].push_back(i);
    if (!has_operand || !passes::is_pure(module, graph, node)) continue;
    if (is_of_constants) {
      kind_[i] = Kind::kOfConstants;
    } else if (module.op(node).name.starts_with(kDequantise)) {
      kind_[i] = Kind::kDequantised;
    }
  }
}

Grouping ReaderCopies::group(const Dag& dag, const std::vector<uint32_t>& fixed,
                             const ClaimSet& claims) const {
  ClaimSet grouped = claims;
  // Nodes that a region waits for in place of a copied node. Operands come before their readers.
  std::vector<std::vector<uint32_t>> sources(dag.node_count());
  for (uint32_t node = 0; node < dag.node_count(); ++node) {
    if (!is_copied(node, claims)) continue;
    for (const uint32_t need : needs_[node]) {
      if (!is_copied(need, claims)) add_once(sources[node], need);
      for (const uint32_t source : sources[need]) add_once(sources[node], source);
    }
  }
  for (uint32_t node = 0; node < dag.node_count(); ++node)
    if (is_copied(node, claims) && is_only_copied(node, claims)) grouped.unit[node] = ClaimSet::kNot;
  Dag bypassed(dag.node_count());
  for (const Dag::Edge& edge : dag.edges()) {
    if (!is_copied(edge.from, claims) || claims.unit[edge.to] == ClaimSet::kNot) {
      bypassed.add_edge(edge.from, edge.to);
      continue;
    }
    for (const uint32_t source : sources[edge.from]) bypassed.add_edge(source, edge.to);
  }
  return partition::group(bypassed, fixed, grouped);
}

// A dequantisation that the host reads, too, stays in the region of its operand: the host needs no kernel for it.
bool ReaderCopies::is_only_copied(uint32_t node, const ClaimSet& claims) const {
  size_t claimed_count = 0;
  for (const uint32_t reader : readers_[node])
    if (claims.unit[reader] != ClaimSet::kNot) ++claimed_count;
  if (claimed_count == 0) return false;
  return kind_[node] == Kind::kOfConstants || (claimed_count == readers_[node].size() && !is_output_[node]);
}

void ReaderCopies::add_to(std::vector<uint32_t>& nodes, const ClaimSet& claims) const {
  std::unordered_set<uint32_t> inside(nodes.begin(), nodes.end());
  for (size_t i = 0; i < nodes.size(); ++i) {  // copies need copies: the list grows
    for (const uint32_t need : needs_[nodes[i]]) {
      if (is_copied(need, claims) && inside.insert(need).second) nodes.push_back(need);
    }
  }
  std::sort(nodes.begin(), nodes.end());
}

}  // namespace etb::partition
