// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/quantization_matcher.hpp"

#include "ops/quantized_decomposed/dequantize_per_tensor.hpp"
#include "ops/quantized_decomposed/quantize_per_tensor.hpp"
#include "plugins/xnnpack/compile/node_arguments.hpp"

namespace etb::xnnpack {

namespace {

template <template <class> class View>
std::optional<QuantParams> read_params_as(const Node& node) {
  using Arguments = View<NodeArguments>;
  if (node.op_name() != Arguments::kName) return std::nullopt;
  const Arguments args(node, Arguments::kArgumentNames);
  const auto scale = args.scale().find(), zero_point = args.zero_point().find();
  if (!scale || !scale->as_float() || !zero_point || !zero_point->as_int() ||
      args.dtype().dtype() != ETB_DTYPE_INT8)
    return std::nullopt;
  return QuantParams{static_cast<float>(*scale->as_float()), static_cast<int32_t>(*zero_point->as_int())};
}

// Returns the tensors of an argument. A missing one in a list is kNone.
std::vector<uint32_t> tensors_of(const graph::Argument& arg) {
  std::vector<uint32_t> ids;
  if (const auto id = arg.value()) ids.push_back(*id);
  for (const uint32_t id : arg.values()) ids.push_back(id);
  return ids;
}

}  // namespace

void set_params(XnnValue& value, QuantParams params) {
  value.quantisation = XnnQuantisation::kPerTensor;
  value.scale = params.scale;
  value.zero_point = params.zero_point;
}

std::optional<QuantParams> read_params(const std::optional<Node>& node) {
  if (!node) return std::nullopt;
  if (const auto params = read_params_as<ops::quantized_decomposed::quantize_per_tensor_default>(*node))
    return params;
  return read_params_as<ops::quantized_decomposed::dequantize_per_tensor_default>(*node);
}

std::optional<QuantParams> QuantizationMatcher::match(const Node& node, const Op& op) const {
  if (op.quantised == QuantKind::kFloatOnly) return std::nullopt;
  bool has_tensor = false;
  std::optional<QuantParams> first;
  for (const graph::Argument& arg : node.args()) {
    if (arg.name() == op.bias) continue;
    for (const uint32_t value : tensors_of(arg)) {
      if (value == graph::kNone) return std::nullopt;
      const LoweredValue* integers = values_.find_integers(value);
      if (integers == nullptr) return std::nullopt;
      has_tensor = true;
      if (op.quantised == QuantKind::kComputes) continue;
      if (builder_.constant(integers->id) && (op.traits & kMovesConstants) == 0) return std::nullopt;
      const QuantParams params = params_of(builder_.value(integers->id));
      if (first && !(*first == params)) return std::nullopt;
      first = params;
    }
  }
  if (!has_tensor) return std::nullopt;
  return op.quantised == QuantKind::kMoves ? first : find_result_params(node.first_output());
}

// Returns the scale that the one reader of a value quantises it with, after clamps that XNNPACK can fuse.
std::optional<QuantParams> QuantizationMatcher::find_result_params(uint32_t value) const {
  while (graph_.use_count(value) == 1) {
    const std::optional<Node> next = graph_.find_reader(value);
    if (!next) return std::nullopt;  // an output of the graph
    if (const auto params = read_params(next)) return params;
    if (!has_trait(next->op_name(), kClamps)) return std::nullopt;
    value = next->first_output();
  }
  return std::nullopt;
}

}  // namespace etb::xnnpack
