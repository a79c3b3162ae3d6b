// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "plugins/xnnpack/compile/node_arguments.hpp"
#include "plugins/xnnpack/compile/quantization_matcher.hpp"
#include "plugins/xnnpack/compile/reject.hpp"
#include "plugins/xnnpack/compile/value_map.hpp"

namespace etb::xnnpack {

// A lowered attention mask. `added` is added to scores. `open_rows` holds 0 for a row that is fully masked,
// else 1. kXnnNoValue: no mask, or no such row.
struct AttentionMask {
  uint32_t added = kXnnNoValue;
  uint32_t open_rows = kXnnNoValue;
};

inline bool dequantises(const graph::Node& node) {
  return node.op_name().starts_with("quantized_decomposed.dequantize");
}

// Everything that is lowered of a graph so far. Its parts point to each other, so it must not move.
struct LoweringState {
  SourceGraph graph;
  XnnGraphBuilder builder = {};
  ValueMap values{graph, builder};
  std::map<uint32_t, AttentionMask> attention_masks = {};  // by payload value; layers share them

  // Nodes that only permute an input of the payload, `id`, become no nodes of it. Joins those that make `value` to the
  // nodes that are added next.
  void join_moves(uint32_t value, uint32_t id);
};

// Dimension order of the operands that an op sees.
enum class OperandOrder {
  kRecorded,  // the order that the nodes before left them in
  kStored,    // the order of their tensors in memory, as in a claim
};

// Lowers one node: an op's function (ops/) gets it with the op's arguments.
class LoweringContext {
 public:
  // `result_params`: scale of the results if the node computes on integers.
  LoweringContext(LoweringState& state, const Node& node, std::optional<QuantParams> result_params,
                  OperandOrder order)
      : state_(state), node_(node), result_params_(result_params), order_(order) {}

  const SourceGraph& graph() const { return state_.graph; }
  XnnGraphBuilder& builder() { return state_.builder; }
  ValueMap& values() { return state_.values; }
  std::map<uint32_t, AttentionMask>& attention_masks() { return state_.attention_masks; }
  const Node& node() const { return node_; }

  // Returns the graph's value that is result `index` of the node.
  uint32_t result(uint32_t index = 0) const { return node_.first_output() + index; }
  uint32_t result_count() const { return node_.output_count(); }

  // Returns an operand in its dimension order (OperandOrder): as integers if the node computes on them.
  [[nodiscard]] Result<LoweredValue> lowered(uint32_t value);
  // Returns an operand in a given dimension order; `natural` is 0, 1, 2, ...
  [[nodiscard]] Result<uint32_t> arranged(uint32_t value, const Permutation& perm);
  [[nodiscard]] Result<uint32_t> natural(uint32_t value);
  // Returns an operand that must be a constant.
  [[nodiscard]] Result<ConstantPtr> constant(const NodeArguments::Tensor& argument);
  // Rejects an operand that is not a constant of zeros.
  [[nodiscard]] Status check_zeros(const NodeArguments::Tensor& argument);
  // Returns the producer of an operand if this node is its only reader. The caller may then change its result. NULL
  // for transposed operands.
  XnnNode* find_only_producer(uint32_t value) {
    if (order_ == OperandOrder::kStored) return nullptr;
    return state_.values.find_only_producer(value, is_quantised());
  }

  // Defines a result of the node.
  void define(uint32_t value, LoweredValue lowered) { state_.values.define(value, std::move(lowered)); }
  // Adds a value for result `index` with dimensions in this order, and defines the result.
  [[nodiscard]] Result<uint32_t> add_result(uint32_t index, const Permutation& perm);
  [[nodiscard]] Result<uint32_t> add_result() { return add_result(0, identity(graph().rank(result()))); }

  // True if the node computes on integers.
  bool is_quantised() const { return result_params_.has_value(); }
  // Returns the datatype of result `index` in the payload.
  [[nodiscard]] Result<XnnDatatype> result_datatype(uint32_t index = 0) const;
  // Sets the result's scale on a value of the payload, if the node computes on integers.
  void adopt_result_params(uint32_t id);

 private:
  [[nodiscard]] Result<LoweredValue> recorded(uint32_t value);

  LoweringState& state_;
  const Node& node_;
  std::optional<QuantParams> result_params_;
  OperandOrder order_;
};

}  // namespace etb::xnnpack
