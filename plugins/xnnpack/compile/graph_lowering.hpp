// SPDX-License-Identifier: Apache-2.0
// Lowers the nodes of a graph into a payload. A claim lowers one node into a payload that is discarded.
// Claimed nodes compile because both use the same code.
#pragma once

#include "plugins/xnnpack/compile/lowering_context.hpp"

namespace etb::xnnpack {

class GraphLowering {
 public:
  // Without a region (claims), constants have no bytes.
  GraphLowering(const Graph& graph, const GraphFacts& facts, const Region* region)
      : state_{.graph = {graph, facts, region}} {}

  // Lowers one node. On error, the reason is that of reject().
  [[nodiscard]] Status lower(const Node& node);
  // True if an operand known only at run time has another dimension order than a claim sees.
  bool has_recorded_order(const Node& node) const;
  // Rejects a claim if a delegate would reject sizes of what was lowered. Ends the lowering.
  [[nodiscard]] Status check_sizes(std::span<const uint32_t> positions);
  // Adds the non-constant inputs as the payload's inputs, in order.
  [[nodiscard]] Status add_inputs();
  [[nodiscard]] Status add_outputs();
  // Returns the payload and its named data. Reads the constants.
  [[nodiscard]] Result<Artifact> finish() { return state_.builder.finish(); }

 private:
  void fold_operands(const Node& node);
  void join_dequantised(const graph::Node& node);
  Status lower_by(const Op& op, const Node& node);
  Status lower_in_some_order(const Op& op, const Node& node, const std::optional<QuantParams>& params);
  Status finish_results(const Node& node);

  LoweringState state_;
};

// Claims or rejects every node of a graph: lowers each one alone.
[[nodiscard]] Status claim_nodes(const Graph& graph, const PartitionSink& sink);
[[nodiscard]] Result<Artifact> compile_region(const Region& region);

}  // namespace etb::xnnpack
