// SPDX-License-Identifier: Apache-2.0
// Quantisation nodes: pairs around ops on floats. Lowering (lowering.hpp) removes them.
#include <cmath>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Result<QuantParams> read_params(const Lowering& l) {
  ETB_ASSIGN(const double scale, l.number("scale", 1));
  ETB_ASSIGN(const int64_t zero_point, l.integer("zero_point", 0));
  const auto narrowed = static_cast<float>(scale);
  if (!std::isnormal(narrowed) || narrowed < 0 || zero_point < -128 || zero_point > 127)
    return Lowering::refuse("quant", "scale ", scale, " and zero point ", zero_point);
  return QuantParams{narrowed, static_cast<int32_t>(zero_point)};
}

Status lower_quantize(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const QuantParams params, read_params(l));
  ETB_ASSIGN(const int64_t low, l.integer("quant_min", -128));
  ETB_ASSIGN(const int64_t high, l.integer("quant_max", 127));
  if (l.spec(l.result()).dtype != ETB_DTYPE_INT8 || low != -128 || high != 127)
    return Lowering::refuse("quant", "to another range than int8's");
  std::optional<Form> from = l.integers_of(input);
  if (from && !draft.constant(from->id) && l.params_of(from->id) == params) {
    l.define(l.result(), *from);
    return {};
  }
  // Converts between two scales through floats: XNNPACK's own int8 to int8 conversion is sometimes off by
  // one.
  ETB_ASSIGN(from, l.form(input));
  if (draft.constant(from->id))
    return Lowering::refuse("constant", "a constant, expected a tensor known at run time");
  const uint32_t id = draft.add_value(XnnDatatype::kQint8, draft.extents(from->id));
  l.set_params(id, params);
  draft.add_node(XnnOperator::kConvert, {from->id}, {id});
  l.define(l.result(), {id, from->perm});
  return {};
}

Status lower_dequantize(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const QuantParams params, read_params(l));
  if (l.spec(l.result()).dtype != ETB_DTYPE_FLOAT32)
    return Lowering::refuse("dtype", "result, expected float32");
  ETB_ASSIGN(const Form form, l.form(input));
  if (const ConstantPtr& constant =
          l.draft().constant(form.id)) {  // one value per use, as each may have its own scale
    const uint32_t id = l.draft().add_constant(std::make_shared<Constant>(*constant), XnnDatatype::kQint8);
    l.set_params(id, params);
    l.define(l.result(), {id, form.perm});
    return {};
  }
  if (!(l.params_of(form.id) == params))
    return Lowering::refuse("quant", "another scale than the tensor was quantised with");
  l.define(l.result(), form);
  return {};
}

Status lower_dequantize_per_channel(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const uint32_t scales, l.value("scales"));
  ETB_ASSIGN(const uint32_t axis, l.dim("axis", 0, l.rank(input)));
  ETB_ASSIGN(const ConstantPtr constant, l.constant(input, "input"));
  ETB_ASSIGN(const ConstantPtr steps, l.constant(scales, "scales"));
  const auto channels = static_cast<size_t>(l.sizes(input)[axis]);
  std::vector<float> values(channels, 1);  // claims have no bytes
  if (!l.is_claiming()) {
    ETB_ASSIGN(values, read_floats(*steps));
    if (values.size() != channels) return Lowering::refuse("quant", "scales, expected one a channel");
    if (l.has("zero_points")) {
      ETB_ASSIGN(const uint32_t found, l.value("zero_points"));
      ETB_ASSIGN(const ConstantPtr zero_points, l.constant(found, "zero_points"));
      ETB_ASSIGN(const std::vector<float> numbers, read_floats(*zero_points));
      for (const float number : numbers)
        if (number != 0) return Lowering::refuse("quant", "zero_points: ", number, ", expected 0");
    }
  }
  const uint32_t id = l.draft().add_constant(std::make_shared<Constant>(*constant), XnnDatatype::kQcint8);
  XnnValue& value = l.draft().value(id);
  value.quantisation = XnnQuantisation::kPerChannel;
  value.channel_dim = axis;
  value.scales = std::move(values);
  l.define(l.result(), {id, identity(l.rank(input))});
  return {};
}

constexpr Op kRows[] = {
    {.name = "quantized_decomposed.quantize_per_tensor.default",
     .lower = lower_quantize,
     .dtypes = kFloat32Only,
     .constraint = "To int8 with all its range."},
    {.name = "quantized_decomposed.dequantize_per_tensor.default",
     .lower = lower_dequantize,
     .dtypes = kInt8Only,
     .constraint = "From int8.",
     .traits = kFolds},
    {.name = "quantized_decomposed.dequantize_per_channel.default",
     .lower = lower_dequantize_per_channel,
     .dtypes = kInt8Only,
     .constraint = "Of a constant.",
     .traits = kFolds},
};

}  // namespace

extern const OpList quantise_ops = kRows;

}  // namespace etb::xnnpack
