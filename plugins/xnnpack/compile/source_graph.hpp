// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "plugins/xnnpack/compile/graph_facts.hpp"
#include "plugins/xnnpack/compile/xnn_graph_builder.hpp"

namespace etb::xnnpack {

// The graph to lower: sizes, uses and constants of its values.
class SourceGraph {
 public:
  // Without a region (claims), constants have no bytes.
  SourceGraph(const Graph& graph, const GraphFacts& facts, const Region* region)
      : graph_(graph), facts_(facts), region_(region) {}

  const Graph& image() const { return graph_; }
  // True if the payload is discarded.
  bool is_claiming() const { return region_ == nullptr; }

  bool is_input(uint32_t value) const { return value < graph_.input_count(); }
  etb_graph_spec spec(uint32_t value) const { return graph_.value(value).spec(); }
  etb_dtype dtype(uint32_t value) const { return static_cast<etb_dtype>(spec(value).dtype); }
  size_t rank(uint32_t value) const { return spec(value).rank; }
  std::vector<int64_t> sizes(uint32_t value) const;
  Extents extents(uint32_t value) const;
  // Returns the order of the dimensions in memory.
  Permutation storage_order(uint32_t value) const;

  // Number of reads of a value by nodes and the graph's outputs.
  uint32_t use_count(uint32_t value) const { return facts_.use_counts[value]; }
  // Returns a node that reads the value.
  std::optional<Node> find_reader(uint32_t value) const;
  // Returns the node that computes the value, none for an input.
  std::optional<Node> find_producer(uint32_t value) const;

  // Returns the constant that is this input, NULL for any other value.
  ConstantPtr find_constant(uint32_t value) const;
  // False if this input is a constant that is not all zero. A claim has no bytes of constants outside the image,
  // but their digest.
  bool may_be_zeros(uint32_t value) const;
  // True if the value follows from constants by nodes that fold (kFolds).
  bool is_made_of_constants(uint32_t value) const;

 private:
  const Graph& graph_;
  const GraphFacts& facts_;
  const Region* region_;
};

}  // namespace etb::xnnpack
