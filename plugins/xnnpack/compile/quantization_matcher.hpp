// SPDX-License-Identifier: Apache-2.0
// Graphs express quantisation as pairs of nodes: quantize, then dequantize before an op on floats. If all inputs of
// an op are dequantised and the one reader of its result quantises again, the op is lowered to XNNPACK's integer
// operator.
#pragma once

#include <optional>

#include "plugins/xnnpack/compile/op.hpp"
#include "plugins/xnnpack/compile/value_map.hpp"

namespace etb::xnnpack {

// Scale and zero point of an int8 tensor.
struct QuantParams {
  float scale = 1;
  int32_t zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

inline QuantParams params_of(const XnnValue& value) { return {value.scale, value.zero_point}; }
void set_params(XnnValue& value, QuantParams params);
// Reads a quantize_per_tensor or dequantize_per_tensor node of int8 with constant numbers.
std::optional<QuantParams> read_params(const std::optional<Node>& node);

class QuantizationMatcher {
 public:
  QuantizationMatcher(const SourceGraph& graph, const XnnGraphBuilder& builder, const ValueMap& values)
      : graph_(graph), builder_(builder), values_(values) {}

  // Returns the scale of the results of a node that can compute on integers, none for a node on floats.
  std::optional<QuantParams> match(const Node& node, const Op& op) const;

 private:
  std::optional<QuantParams> find_result_params(uint32_t value) const;

  const SourceGraph& graph_;
  const XnnGraphBuilder& builder_;
  const ValueMap& values_;
};

}  // namespace etb::xnnpack
