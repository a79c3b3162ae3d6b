// SPDX-License-Identifier: Apache-2.0
// Compiles a region into a payload.
#include "plugins/xnnpack/compile/graph_lowering.hpp"

namespace etb::xnnpack {

namespace {

bool has_dynamic_sizes(const Node& node) {
  for (const Value& operand : node.operands())
    if (operand.is_tensor() && operand.spec().dynamic_dims != 0) return true;
  return false;
}

// An op may accept dynamic sizes in a recorded order only. A claim rejects the node, so compile must, too. Nodes of a chain
// are claimed together.
Status check_as_claimed(const Region& region, const GraphFacts& facts, const GraphLowering& lowering,
                        const Node& node) {
  if (!has_dynamic_sizes(node) || has_trait(node.op_name(), kStartsChain | kInChain) ||
      !lowering.has_recorded_order(node))
    return {};
  return GraphLowering(region.graph(), facts, nullptr).lower(node);
}

// Rejects by the op's row, as a claim does, then lowers.
Status check_and_lower(GraphLowering& lowering, const Node& node) {
  if (const OpRow* row = detail::find_row(op_rows(), node.op_name())) {
    if (const Claim claim = detail::check_row(node, *row); !claim.is_claimed)
      return make_error(Code::NOT_SUPPORTED, std::string(claim.reason) + ": " + claim.text);
  }
  return lowering.lower(node);
}

}  // namespace

Result<Artifact> compile_region(const Region& region) {
  const GraphFacts facts(region.graph());
  GraphLowering lowering(region.graph(), facts, &region);
  ETB_TRY(lowering.add_inputs());
  for (uint32_t i = 0; i < region.graph().node_count(); ++i) {
    const Node node = region.graph().node(i);
    if (node.gives_numbers()) continue;
    Status lowered = check_as_claimed(region, facts, lowering, node);
    if (lowered) lowered = check_and_lower(lowering, node);
    if (!lowered) {
      return tl::make_unexpected(
          with_context(std::move(lowered).error(),
                       "node " + std::to_string(node.id()) + " (" + std::string(node.op_name()) + ")"));
    }
  }
  ETB_TRY(lowering.add_outputs());
  return lowering.finish();
}

}  // namespace etb::xnnpack
