// SPDX-License-Identifier: Apache-2.0
// Lowers the nodes of a graph into a payload.
#pragma once

#include <map>
#include <set>

#include "plugins/gpu/compile/op.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"

namespace etb::gpu {

class GraphLowering {
 public:
  // Without a region (claims), constants have no bytes. `value_limit`: bytes that a value may have, of value_limit_of().
  GraphLowering(const Graph& graph, const GraphFacts& facts, const Region* region, uint64_t value_limit)
      : state_{graph, facts, region}, value_limit_(value_limit) {}

  // Adds the inputs of a region in their order, also those that no node reads.
  [[nodiscard]] Status add_inputs();
  // Checks the node against its op's row, then lowers it.
  [[nodiscard]] Status lower(const Node& node);
  // Checks that the payload computes the sizes that the graph states for these values, within the limits of the target.
  [[nodiscard]] Status check(std::span<const uint32_t> values) const;
  [[nodiscard]] Status add_outputs();
  [[nodiscard]] Result<Artifact> finish();

 private:
  // Adds the handle of a node to the values that compute its results, among them those of nodes from `first_node` on.
  void add_handle(const Node& node, size_t first_node);
  std::vector<uint32_t> debug_handles() const;
  std::set<uint32_t> handles_of_output(uint32_t id) const;
  void add_node_events(const ExecutionPlan& plan, Artifact& artifact) const;
  void add_results(Artifact& artifact) const;

  LoweringState state_;
  uint64_t value_limit_;
  std::map<uint32_t, std::set<uint32_t>> handles_;  // by value of the payload
};

}  // namespace etb::gpu
