// SPDX-License-Identifier: Apache-2.0
#include "plugins/dsp_stub/compile/graph_facts.hpp"

#include <algorithm>
#include <cmath>

namespace etb::dsp_stub {

GraphFacts::GraphFacts(const Graph& graph, uint32_t payload_version)
    : graph_(&graph),
      payload_version_(payload_version),
      producers_(graph.value_count(), graph::kNone),
      readers_(graph.value_count()),
      is_output_(graph.value_count()) {
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    for (uint32_t k = 0; k < node.output_count(); ++k) producers_[node.first_output() + k] = i;
    for (const Value& operand : node.operands()) {
      std::vector<uint32_t>& readers = readers_[operand.id()];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
  }
  for (uint32_t i = 0; i < graph.output_count(); ++i) is_output_[graph.output(i).id()] = true;
}

bool GraphFacts::is_constant(uint32_t value) const {
  return value < graph_->input_count() && graph_->input(value).constant != graph::kNone &&
         graph_->input(value).updated_by == graph::kNone;
}

std::vector<int64_t> GraphFacts::sizes(uint32_t value) const {
  const etb_graph_spec spec = graph_->spec_of(value);
  return {spec.sizes, spec.sizes + spec.rank};
}

bool is_quantize(const Node& node) {
  return node.op_name() == "quantized_decomposed.quantize_per_tensor.default";
}
bool is_dequantize(const Node& node) {
  return node.op_name() == "quantized_decomposed.dequantize_per_tensor.default";
}

Result<Params> read_params(const GraphFacts& facts, const Node& node, uint32_t codes) {
  const Arguments args(node);
  const auto dtype = args.find("dtype");
  const bool is_wide = dtype && dtype->as_dtype() == ETB_DTYPE_INT16;
  if (!is_wide && (!dtype || dtype->as_dtype() != ETB_DTYPE_INT8))
    return reject("quant", "codes of another type, expected int8 or int16");
  if (facts.graph().spec_of(codes).dtype != (is_wide ? ETB_DTYPE_INT16 : ETB_DTYPE_INT8))
    return reject("dtype", "'" + std::string(facts.graph().value(codes).name()) +
                               "': another type than the dtype of " + std::string(node.op_name()));
  if (is_wide && !facts.allows_version_3())
    return reject("quant", "int16 codes, expected payload_version 3 for them");
  const uint32_t width = is_wide ? 2 : 1;
  ETB_ASSIGN(const double scale, args.number("scale", 1));
  ETB_ASSIGN(const int64_t zero, args.integer("zero_point", 0));
  ETB_ASSIGN(const int64_t low, args.integer("quant_min", lowest_code(width)));
  ETB_ASSIGN(const int64_t high, args.integer("quant_max", highest_code(width)));
  if (!std::isnormal(scale) || scale < 0 || !std::isnormal(static_cast<float>(scale)))
    return reject("quant", "scale " + std::to_string(scale));
  if (is_wide && zero != 0)
    return reject("quant", "zero point " + std::to_string(zero) + " of int16 codes, expected 0");
  if (zero < lowest_code(width) || zero > highest_code(width) || low < lowest_code(width) ||
      high > highest_code(width) || low > high)
    return reject("quant", "zero point " + std::to_string(zero) + " and range " + std::to_string(low) +
                               " to " + std::to_string(high) + ", expected " + (is_wide ? "int16" : "int8"));
  int64_t nbytes = width;
  for (const int64_t size : facts.sizes(codes))
    nbytes = size > INT32_MAX / nbytes ? INT32_MAX : nbytes * size;
  if (is_wide && nbytes == INT32_MAX)
    return reject("attribute", "more int16 codes than the device addresses");
  return Params{scale, static_cast<int32_t>(zero), static_cast<int32_t>(low), static_cast<int32_t>(high),
                width};
}

Status check_sizes(const Value& value) {
  const std::string name = "'" + std::string(value.name()) + "': ";
  if (!value.is_tensor()) return reject("op", name + "no tensor");
  const etb_graph_spec spec = value.spec();
  if (spec.dynamic_dims != 0) return reject("dynamic", name + "dynamic sizes, expected static ones");
  int64_t count = 1;
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if (spec.dim_order[i] != i) return reject("layout", name + "dim order, expected row-major");
    if (spec.sizes[i] < 1) return reject("attribute", name + "no elements");
    if (spec.sizes[i] > int64_t{1 << 20} || count > INT32_MAX / spec.sizes[i])
      return reject("attribute", name + "more elements than the device addresses");
    count *= spec.sizes[i];
  }
  return {};
}

}  // namespace etb::dsp_stub
