// SPDX-License-Identifier: Apache-2.0
// Claims or rejects a node: lowers it alone into a payload that is discarded.
#include "plugins/gpu/compile/graph_lowering.hpp"
#include "plugins/gpu/compile/target.hpp"

namespace etb::gpu {

Claim to_claim(const Error& error) {
  static constexpr const char* kReasons[] = {"dtype", "rank",      "layout", "dynamic",
                                             "quant", "attribute", "op"};
  for (const char* reason : kReasons)
    if (error.reason == reason) return Claim::no(reason, error.message);
  if (error.reason == "constant") return Claim::no("org.etbackend.gpu.constant", error.message);
  return Claim::no("attribute", error.message);
}

namespace {

Claim claim_one(const Graph& graph, const GraphFacts& facts, const Node& node, uint64_t value_limit) {
  GraphLowering lowering(graph, facts, nullptr, value_limit);
  Status lowered = lowering.lower(node);
  if (lowered) {
    std::vector<uint32_t> results;
    for (const Value& result : node.results()) results.push_back(result.id());
    lowered = lowering.check(results);
  }
  return lowered ? Claim::yes() : to_claim(lowered.error());
}

}  // namespace

Status claim_nodes(const Graph& graph, const PartitionSink& sink, const Target& target) {
  ETB_ASSIGN(const uint64_t value_limit, value_limit_of(target));
  const GraphFacts facts(graph);
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    const uint32_t id = node.id();
    const Claim claim = claim_one(graph, facts, node, value_limit);
    ETB_TRY(claim.is_claimed ? sink.claim({&id, 1}, claim) : sink.reject({&id, 1}, claim));
  }
  return {};
}

}  // namespace etb::gpu
