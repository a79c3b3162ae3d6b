// SPDX-License-Identifier: Apache-2.0
// Finds the quantisation of a graph and the scales that its nodes compute with (pattern: see lowering.hpp).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "plugins/xnnpack/compile/lowering.hpp"

namespace etb::xnnpack {

// Reads scale and zero point of a quantize or dequantize node with constant numbers.
std::optional<QuantParams> read_params(const std::optional<Node>& node) {
  if (!node) return std::nullopt;
  const std::string_view op = node->op_name();
  if (op != "quantized_decomposed.quantize_per_tensor.default" &&
      op != "quantized_decomposed.dequantize_per_tensor.default")
    return std::nullopt;
  const auto scale = node->find_arg("scale"), zero_point = node->find_arg("zero_point"),
             dtype = node->find_arg("dtype");
  if (!scale || !scale->as_float() || !zero_point || !zero_point->as_int() || !dtype ||
      dtype->as_dtype() != ETB_DTYPE_INT8)
    return std::nullopt;
  return QuantParams{static_cast<float>(*scale->as_float()), static_cast<int32_t>(*zero_point->as_int())};
}

void Lowering::set_params(uint32_t id, QuantParams params) {
  XnnValue& value = draft_.value(id);
  value.quantisation = XnnQuantisation::kPerTensor;
  value.scale = params.scale;
  value.zero_point = params.zero_point;
}

std::optional<Node> Lowering::reader(uint32_t value) const {
  if (facts_.readers[value] == kXnnNoValue) return std::nullopt;
  return graph_.node(facts_.readers[value]);
}

std::optional<Form> Lowering::integers_of(uint32_t value) {
  if (region_ == nullptr && value >= graph_.input_count() && forms_.count(value) == 0 &&
      integers_.count(value) == 0 && is_made_of_constants(value))
    fold(value);
  const auto found = integers_.find(value);
  return found == integers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> Lowering::dynamic_source(uint32_t value) const {
  const auto found = dynamic_.find(value);
  return found == dynamic_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t Lowering::quantised_at_run_time(uint32_t id, uint32_t nonbatch_dim_count) {
  const auto [known, is_new] = quantised_at_run_time_.emplace(std::pair(id, nonbatch_dim_count), 0);
  if (!is_new) return known->second;
  const uint32_t made = draft_.add_value(XnnDatatype::kQdint8, draft_.extents(id));
  draft_.value(made).quantisation = XnnQuantisation::kPerToken;
  draft_.value(made).nonbatch_dim_count = nonbatch_dim_count;
  draft_.add_node(XnnOperator::kConvert, {id}, {made});
  return known->second = made;
}

// Dequantises a float value that was lowered as integers, for an op on floats.
Result<Form> Lowering::to_floats(uint32_t value) {
  const Form form = integers_.at(value);
  if (const ConstantPtr& constant = draft_.constant(form.id)) {
    const XnnValue& integers = draft_.value(form.id);
    const bool is_by_group = integers.quantisation == XnnQuantisation::kPerChannelGroup;
    const std::vector<float> scales = is_by_group || integers.quantisation == XnnQuantisation::kPerChannel
                                          ? integers.scales
                                          : std::vector<float>{integers.scale};
    size_t inner = is_by_group ? integers.group_size : 1;
    for (size_t d = integers.channel_dim + 1; !is_by_group && d < integers.sizes.size(); ++d)
      inner *= integers.sizes[d];
    const int32_t zero_point = integers.zero_point;
    const ConstantPtr floats =
        computed({constant}, constant->sizes, ETB_DTYPE_FLOAT32, [=](const auto& from) {
          std::vector<float> out = from[0];
          for (size_t i = 0; i < out.size(); ++i)
            out[i] = (out[i] - static_cast<float>(zero_point)) * scales[i / inner % scales.size()];
          return out;
        });
    return forms_[value] = {draft_.add_constant(floats, XnnDatatype::kFloat32), form.perm};
  }
  const uint32_t id = draft_.add_value(XnnDatatype::kFloat32, draft_.extents(form.id));
  draft_.add_node(XnnOperator::kConvert, {form.id}, {id});
  return forms_[value] = {id, form.perm};
}

// Returns the scale that the one reader of a value quantises it with, after clamps that XNNPACK can fuse.
std::optional<QuantParams> Lowering::find_result_params(uint32_t value) const {
  while (facts_.use_counts[value] == 1) {
    const std::optional<Node> next = reader(value);
    if (!next) return std::nullopt;  // an output of the graph
    if (const auto params = read_params(next)) return params;
    if (!has_trait(next->op_name(), kClamps)) return std::nullopt;
    value = next->first_output();
  }
  return std::nullopt;
}

bool Lowering::choose_quantised(const Node& node, QuantKind kind) {
  if (kind == QuantKind::kFloatOnly) return false;
  const bool is_addmm = node.op_name() == "aten.addmm.default";
  bool has_tensor = false;
  std::optional<QuantParams> first;
  for (const graph::Argument& arg : node.args()) {
    std::vector<uint32_t> ids;
    if (const auto id = arg.value()) ids.push_back(*id);
    for (const uint32_t id : arg.values()) ids.push_back(id);
    if (arg.name() == (is_addmm ? "self" : "bias")) continue;
    for (const uint32_t id : ids) {
      if (id == graph::kNone) return false;
      const auto form = integers_of(id);
      if (!form) return false;
      has_tensor = true;
      if (kind == QuantKind::kComputes) continue;
      if (draft_.constant(form->id) && !has_trait(node.op_name(), kMovesConstants)) return false;
      if (first && !(*first == params_of(form->id))) return false;
      first = params_of(form->id);
    }
  }
  if (!has_tensor) return false;
  if (kind == QuantKind::kMoves) {
    result_params_ = *first;
    return true;
  }
  const auto params = find_result_params(node.first_output());
  if (params) result_params_ = *params;
  return params.has_value();
}

Result<uint32_t> Lowering::add_filter(const ConstantPtr& filter, uint32_t weight, uint32_t channel_dim,
                                      XnnDatatype datatype) {
  const auto integers = integers_of(weight);
  if (!is_quantised_ || !integers)
    return draft_.add_constant(converted(filter, to_dtype(datatype)), datatype);
  const XnnValue from = draft_.value(integers->id);
  const uint32_t id = draft_.add_constant(std::make_shared<Constant>(*filter), from.datatype);
  XnnValue& made = draft_.value(id);
  made.quantisation = from.quantisation;
  made.scale = from.scale;
  made.zero_point = from.zero_point;
  made.scales = from.scales;
  made.channel_dim = channel_dim;
  if (from.quantisation == XnnQuantisation::kPerTensor && from.zero_point != 0)
    return refuse("quant", "weight with zero point ", from.zero_point, ", expected 0");
  return id;
}

Result<uint32_t> Lowering::add_dynamic_filter(const ConstantPtr& filter, uint32_t weight, size_t outputs) {
  const auto integers = integers_of(weight);
  if (!integers || has_four_bits(integers->id)) return refuse("quant", "weight, expected int8");
  const XnnValue from = draft_.value(integers->id);
  if (from.quantisation == XnnQuantisation::kPerTensor && from.zero_point != 0)
    return refuse("quant", "weight with zero point ", from.zero_point, ", expected 0");
  const uint32_t id = draft_.add_constant(std::make_shared<Constant>(*filter), XnnDatatype::kQcint8);
  XnnValue& made = draft_.value(id);
  made.quantisation = XnnQuantisation::kPerChannel;
  made.scales = from.scales.empty() ? std::vector<float>(outputs, from.scale) : from.scales;
  if (made.scales.size() != outputs) return refuse("quant", "weight, expected a scale an output");
  return id;
}

Result<uint32_t> Lowering::add_bias(const ConstantPtr& bias, uint32_t input, uint32_t filter) {
  if (!is_quantised_) {
    ETB_ASSIGN(const XnnDatatype datatype, datatype_of(bias->dtype));
    return draft_.add_constant(bias, datatype);
  }
  const XnnValue weights = draft_.value(filter);
  const bool is_per_channel = weights.quantisation == XnnQuantisation::kPerChannel;
  std::vector<float> steps = is_per_channel ? weights.scales : std::vector<float>{weights.scale};
  for (float& step : steps) step *= draft_.value(input).scale;
  auto made = std::make_shared<Constant>();
  made->dtype = ETB_DTYPE_INT32;
  made->sizes = bias->sizes;
  made->read = [bias, steps]() -> Result<Bytes> {
    ETB_ASSIGN(const std::vector<float> floats, read_floats(*bias));
    std::vector<std::byte> out(floats.size() * sizeof(int32_t));
    for (size_t i = 0; i < floats.size(); ++i) {
      const double count = std::nearbyint(double{floats[i]} / steps[i % steps.size()]);
      const auto rounded = static_cast<int32_t>(std::clamp(count, -2147483648.0, 2147483647.0));
      std::memcpy(out.data() + i * sizeof rounded, &rounded, sizeof rounded);
    }
    return Bytes(std::move(out));
  };
  const uint32_t id =
      draft_.add_constant(made, is_per_channel ? XnnDatatype::kQcint32 : XnnDatatype::kQint32);
  XnnValue& value = draft_.value(id);
  value.quantisation = weights.quantisation;
  value.scale = steps[0];
  value.scales = is_per_channel ? steps : std::vector<float>();
  return id;
}

}  // namespace etb::xnnpack
