// SPDX-License-Identifier: Apache-2.0
// Quantisation nodes: pairs around ops on floats. Lowering (lowering.hpp) removes them.
#include <cmath>

#include "ops/quantized_decomposed/dequantize_per_channel.hpp"
#include "ops/quantized_decomposed/dequantize_per_tensor.hpp"
#include "ops/quantized_decomposed/quantize_per_tensor.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Result<QuantParams> read_params(const NodeArguments::Number& scale_argument,
                                const NodeArguments::Number& zero_point_argument) {
  ETB_ASSIGN(const double scale, scale_argument.number_or(1));
  ETB_ASSIGN(const int64_t zero_point, zero_point_argument.integer_or(0));
  const auto narrowed = static_cast<float>(scale);
  if (!std::isnormal(narrowed) || narrowed < 0 || zero_point < -128 || zero_point > 127)
    return reject("quant", "scale ", scale, " and zero point ", zero_point);
  return QuantParams{narrowed, static_cast<int32_t>(zero_point)};
}

Status lower_quantize(LoweringContext& context,
                      ops::quantized_decomposed::quantize_per_tensor_default<NodeArguments> args) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const QuantParams params, read_params(args.scale(), args.zero_point()));
  ETB_ASSIGN(const int64_t low, args.quant_min().integer_or(-128));
  ETB_ASSIGN(const int64_t high, args.quant_max().integer_or(127));
  if (context.graph().spec(context.result()).dtype != ETB_DTYPE_INT8 || low != -128 || high != 127)
    return reject("quant", "to another range than int8's");
  if (const LoweredValue* integers = context.values().find_integers(input);
      integers != nullptr && !builder.constant(integers->id) &&
      params_of(builder.value(integers->id)) == params) {
    context.define(context.result(), *integers);
    return {};
  }
  // Converts between two scales through floats: XNNPACK's own int8 to int8 conversion is sometimes off by
  // one.
  ETB_ASSIGN(const LoweredValue from, context.lowered(input));
  if (builder.constant(from.id)) return reject("constant", "a constant, expected a tensor known at run time");
  const uint32_t id = builder.add_value(XnnDatatype::kQint8, builder.extents(from.id));
  set_params(builder.value(id), params);
  builder.add_node(XnnOperator::kConvert, {from.id}, {id});
  context.define(context.result(), {id, from.perm});
  return {};
}

Status lower_dequantize(LoweringContext& context,
                        ops::quantized_decomposed::dequantize_per_tensor_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const QuantParams params, read_params(args.scale(), args.zero_point()));
  if (context.graph().spec(context.result()).dtype != ETB_DTYPE_FLOAT32)
    return reject("dtype", "result, expected float32");
  // A claim lowers this node alone, so it looks at the node that made the codes.
  if (const auto made = xnnpack::read_params(context.graph().find_producer(input));
      made && !(*made == params))
    return reject("quant", "another scale than the tensor was quantised with");
  ETB_ASSIGN(const LoweredValue in, context.lowered(input));
  if (const ConstantPtr& constant =
          context.builder().constant(in.id)) {  // one value per use, as each may have its own scale
    const uint32_t id =
        context.builder().add_constant(std::make_shared<Constant>(*constant), XnnDatatype::kQint8);
    set_params(context.builder().value(id), params);
    context.define(context.result(), {id, in.perm});
    return {};
  }
  if (!(params_of(context.builder().value(in.id)) == params))
    return reject("quant", "another scale than the tensor was quantised with");
  context.define(context.result(), in);
  return {};
}

Status lower_dequantize_per_channel(
    LoweringContext& context, ops::quantized_decomposed::dequantize_per_channel_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const uint32_t axis, args.axis().dim_or(0, context.graph().rank(input)));
  ETB_ASSIGN(const ConstantPtr constant, context.constant(args.input()));
  ETB_ASSIGN(const ConstantPtr steps, context.constant(args.scales()));
  const auto channels = static_cast<size_t>(context.graph().sizes(input)[axis]);
  std::vector<float> values(channels, 1);  // claims have no bytes
  if (args.zero_points().has_value()) ETB_TRY(context.check_zeros(args.zero_points()));
  if (!context.graph().is_claiming()) {
    ETB_ASSIGN(values, read_floats(*steps));
    if (values.size() != channels) return reject("quant", "scales, expected one a channel");
  }
  const uint32_t id =
      context.builder().add_constant(std::make_shared<Constant>(*constant), XnnDatatype::kQcint8);
  XnnValue& value = context.builder().value(id);
  value.quantisation = XnnQuantisation::kPerChannel;
  value.channel_dim = axis;
  value.scales = std::move(values);
  context.define(context.result(), {id, identity(context.graph().rank(input))});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::quantized_decomposed::quantize_per_tensor_default, lower_quantize>(
        {.dtypes = kFloat32Only, .constraint = "To int8 with all its range."}),
    op_row<ops::quantized_decomposed::dequantize_per_tensor_default, lower_dequantize>(
        {.dtypes = kInt8Only, .constraint = "From int8.", .traits = kFolds}),
    op_row<ops::quantized_decomposed::dequantize_per_channel_default, lower_dequantize_per_channel>(
        {.dtypes = kInt8Only, .constraint = "A constant with zero points of 0.", .traits = kFolds}),
};

}  // namespace

extern const OpList quantise_ops = kRows;

}  // namespace etb::xnnpack
