// SPDX-License-Identifier: Apache-2.0
// GraphMutator: changes graphs for libFuzzer. Random bytes rarely are a graph, and random graphs rarely one that can be planned.
#pragma once

#include "plugins/gpu/graph/graph.hpp"
#include "plugins/gpu/testing/mutator/random_numbers.hpp"

namespace etb::gpu {

class GraphMutator {
 public:
  explicit GraphMutator(uint32_t seed) : random_(seed) {}

  // Applies one change: a new node with operands that suit it, or another field of a value or node. The graph may then be invalid.
  void mutate(GpuGraph& graph);
  // Appends the nodes of another graph. Some of its inputs become values of this one.
  void join(GpuGraph& graph, const GpuGraph& other);

  RandomNumbers& random() { return random_; }

 private:
  void append_node(GpuGraph& graph);
  void change_sizes(GpuGraph& graph);
  void change_size(GpuGraph& graph);
  void change_rank(GpuGraph& graph);
  void change_value(GpuGraph& graph);
  void change_role(GpuGraph& graph);
  void change_codes(GpuGraph& graph);
  void change_operator(GpuGraph& graph);
  void change_integer(GpuGraph& graph);
  void change_float(GpuGraph& graph);
  void change_edge(GpuGraph& graph);
  void change_outputs(GpuGraph& graph);
  void remove_node(GpuGraph& graph);

  RandomNumbers random_;
};

}  // namespace etb::gpu
