// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "plugins/xnnpack/compile/source_graph.hpp"

namespace etb::xnnpack {

// A lowered value: the payload's value, and the order of its dimensions.
struct LoweredValue {
  uint32_t id = kXnnNoValue;
  Permutation perm;
};

// The lowered values of a graph. A float value may exist as floats, as the integers that it is quantised to, or both.
class ValueMap {
 public:
  ValueMap(const SourceGraph& graph, XnnGraphBuilder& builder) : graph_(graph), builder_(builder) {}

  // Returns NULL if the value is not lowered so.
  const LoweredValue* find_floats(uint32_t value) const { return find(floats_, value); }
  const LoweredValue* find_integers(uint32_t value) const { return find(integers_, value); }
  // Returns a value as floats. Adds inputs and constants of the graph (for a claim any value) at their first use,
  // and dequantises integers.
  [[nodiscard]] Result<LoweredValue> get_floats(uint32_t value);

  // Defines a value of the graph.
  void define(uint32_t value, LoweredValue lowered);
  // Returns the producer of a lowered value if the node that is lowered is its only reader.
  XnnNode* find_only_producer(uint32_t value, bool is_quantised);
  // Undoes the definitions of a failed attempt to lower a node. Values from `first_new` on are new. They are dropped with
  // their nodes.
  void forget(const Node& node, size_t first_new);

  // Returns the tensor that the nodes of a dynamic quantisation represent.
  std::optional<uint32_t> dynamic_source(uint32_t value) const;
  void define_dynamic(uint32_t value, uint32_t source) { dynamic_[value] = source; }

 private:
  using Map = std::map<uint32_t, LoweredValue>;
  static const LoweredValue* find(const Map& map, uint32_t value);
  Result<LoweredValue> enter(uint32_t value);
  LoweredValue dequantise(uint32_t value, const LoweredValue& integers);

  const SourceGraph& graph_;
  XnnGraphBuilder& builder_;
  Map floats_, integers_;
  std::map<uint32_t, uint32_t> dynamic_;       // see dynamic_source
  std::map<uint32_t, int64_t> id_use_counts_;  // by payload value: reads of all graph values that alias it
};

}  // namespace etb::xnnpack
