// SPDX-License-Identifier: Apache-2.0
// Claims or rejects a node: lowers it alone into a payload that is discarded.
#include <algorithm>

#include "plugins/xnnpack/compile/graph_lowering.hpp"

namespace etb::xnnpack {

namespace {

Claim claim_one(const Graph& graph, const GraphFacts& facts, uint32_t position) {
  const Node node = graph.node(position);
  const OpRow* row = detail::find_row(op_rows(), node.op_name());
  if (row == nullptr) return Claim::no("op", std::string(node.op_name()) + ": not in the op table");
  if (Claim claim = detail::check_row(node, *row); !claim.is_claimed) return claim;
  if (has_trait(node.op_name(), kStartsChain))
    return Claim::no("quant",
                     "what reads it ends not only in layers that take an input quantised at run time");
  GraphLowering lowering(graph, facts, nullptr);
  Status lowered = lowering.lower(node);
  if (lowered) lowered = lowering.check_sizes({&position, 1});
  if (lowered) return Claim::yes();
  const Error& error = lowered.error();
  static constexpr const char* kReasons[] = {"dtype", "rank",      "layout", "dynamic",
                                             "quant", "attribute", "op"};
  for (const char* reason : kReasons) {
    if (error.reason == reason) return Claim::no(reason, error.message);
  }
  if (error.reason == "constant") return Claim::no("org.etbackend.xnnpack.constant", error.message);
  if (error.reason == "empty") return Claim::no("org.etbackend.xnnpack.empty", error.message);
  return Claim::no("attribute", error.message);
}

// A linear layer with a dynamically quantised input: its nodes are useful only together.
struct DynamicChain {
  std::vector<uint32_t> nodes;  // node indices
  bool is_whole = true;         // the chain contains all readers of its values
};

// Collects the readers of the results of node `position`, down to linear layers.
void follow(const Graph& graph, const std::vector<std::vector<uint32_t>>& readers, uint32_t position,
            DynamicChain& chain) {
  if (std::find(chain.nodes.begin(), chain.nodes.end(), position) != chain.nodes.end()) return;
  chain.nodes.push_back(position);
  const Node node = graph.node(position);
  if (has_trait(node.op_name(), kEndsChain)) return;
  for (const Value& made : node.results()) {
    for (const uint32_t reader : readers[made.id()]) {
      if (has_trait(graph.node(reader).op_name(), kInChain | kEndsChain)) {
        follow(graph, readers, reader, chain);
      } else {
        chain.is_whole = false;
      }
    }
  }
  for (uint32_t i = 0; i < graph.output_count(); ++i) {
    for (const Value& made : node.results())
      chain.is_whole = chain.is_whole && graph.output(i).id() != made.id();
  }
}

std::vector<DynamicChain> find_dynamic_chains(const Graph& graph) {
  std::vector<std::vector<uint32_t>> readers;
  std::vector<DynamicChain> chains;
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    if (!has_trait(graph.node(i).op_name(), kStartsChain)) continue;
    if (readers.empty()) {
      readers.resize(graph.value_count());
      for (uint32_t n = 0; n < graph.node_count(); ++n) {
        for (const Value& operand : graph.node(n).operands()) readers[operand.id()].push_back(n);
      }
    }
    follow(graph, readers, i, chains.emplace_back());
  }
  return chains;
}

}  // namespace

Status claim_nodes(const Graph& graph, const PartitionSink& sink) {
  const GraphFacts facts(graph);
  std::vector<bool> is_answered(graph.node_count(), false);
  uint32_t group = 0;
  for (const DynamicChain& chain : find_dynamic_chains(graph)) {
    GraphLowering lowering(graph, facts, nullptr);
    std::vector<uint32_t> positions = chain.nodes, ids;
    std::sort(positions.begin(), positions.end());
    bool is_taken = chain.is_whole;
    for (const uint32_t position : positions) {
      is_taken = is_taken && !is_answered[position] && lowering.lower(graph.node(position)).has_value();
      ids.push_back(graph.node(position).id());
    }
    if (!is_taken || !lowering.check_sizes(positions)) continue;
    Claim claim = Claim::yes();
    claim.flags = ETB_CLAIM_WHOLE_GROUP;
    ETB_TRY(sink.claim(ids, claim, ++group));
    for (const uint32_t position : positions) is_answered[position] = true;
  }
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    if (is_answered[i]) continue;
    const Node node = graph.node(i);
    const uint32_t id = node.id();
    const Claim claim = claim_one(graph, facts, i);
    ETB_TRY(claim.is_claimed ? sink.claim({&id, 1}, claim) : sink.reject({&id, 1}, claim));
  }
  return {};
}

}  // namespace etb::xnnpack
