// SPDX-License-Identifier: Apache-2.0
// Matrix products: FullyConnected if the weight is a constant, else BatchMatrixMultiply.
#include "ops/linear.hpp"
#include "ops/addmm.hpp"
#include "ops/mm.hpp"
#include "plugins/xnnpack/compile/quantised_weights.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// The argument that is the bias, none for an op without one.
using Bias = std::optional<NodeArguments::Tensor>;
bool has_bias(const Bias& bias) { return bias && bias->has_value(); }

// Returns the bias as a constant with one element per output, or kXnnNoValue if there is none.
Result<uint32_t> bias_of(LoweringContext& context, const Bias& argument, int64_t outputs, uint32_t input,
                         uint32_t filter) {
  if (!has_bias(argument)) return kXnnNoValue;
  ETB_ASSIGN(const ConstantPtr bias, context.constant(*argument));
  // [outputs, 1] has as many elements where there are as many rows as outputs: one a row.
  if (numel_of(bias->sizes) != outputs || (!bias->sizes.empty() && bias->sizes.back() != outputs))
    return reject("attribute", argument->name(), ": expected one element an output");
  return add_bias(context, bias->sizes.size() == 1 ? bias : reshaped(bias, {outputs}), input, filter);
}

Status add_product(LoweringContext& context, uint32_t input, const Matrix& weight, uint32_t bias,
                   uint32_t out) {
  XnnNode& node = context.builder().add_node(XnnOperator::kFullyConnected, {input, weight.id, bias}, {out});
  node.flags = weight.is_transposed ? 0 : kFlagTransposeWeights;  // XNNPACK's own order is [outputs, inputs]
  return {};
}

// Adds the weight of a dynamically quantised layer, [outputs, inputs].
uint32_t add_integer_filter(LoweringContext& context, uint32_t weight) {
  XnnGraphBuilder& builder = context.builder();
  const XnnValue from = builder.value(weight);
  const bool is_by_group = from.quantisation == XnnQuantisation::kPerChannelGroup;
  const XnnDatatype datatype = !builder.has_four_bits(weight) ? XnnDatatype::kQcint8
                               : is_by_group                  ? XnnDatatype::kQbint4
                                                              : XnnDatatype::kQcint4;
  const ConstantPtr& bytes = builder.constant(weight);
  const uint32_t filter = builder.add_constant(
      builder.has_four_bits(weight) ? packed_four_bits(bytes) : std::make_shared<Constant>(*bytes), datatype);
  XnnValue& made = builder.value(filter);
  made.quantisation = is_by_group ? from.quantisation : XnnQuantisation::kPerChannel;
  if (is_by_group) {
    made.group_size = from.group_size;
    for (const float scale : from.scales) made.scales_bf16.push_back(to_bfloat16(scale));
  } else {
    made.scales = from.scales.empty() ? std::vector<float>(from.sizes[0], from.scale) : from.scales;
  }
  return filter;
}

// True for a weight stored as [outputs, inputs] that has a scale for each input.
bool has_other_scales(const XnnValue& weight) {
  return weight.quantisation == XnnQuantisation::kPerChannel && weight.channel_dim != 0;
}

// Lowers a layer whose input is quantised at run time by row: int8 products, float results.
Status dynamic_product(LoweringContext& context, uint32_t source, uint32_t right, bool is_weight_transposed,
                       const Bias& bias_argument) {
  XnnGraphBuilder& builder = context.builder();
  const auto weight = context.values().find_integers(right);
  if (!weight || !builder.constant(weight->id)) return reject("quant", "weight: no int8 constant");
  const bool has_outputs_first = is_weight_transposed == is_identity(weight->perm);
  const XnnValue from = builder.value(weight->id);
  if (!has_outputs_first || from.sizes.size() != 2 || has_other_scales(from))
    return reject("quant", "weight, expected [outputs, inputs] with a scale an output");
  if (from.quantisation == XnnQuantisation::kPerTensor && from.zero_point != 0)
    return reject("quant", "weight with zero point ", from.zero_point, ", expected 0");
  const uint32_t filter = add_integer_filter(context, weight->id);
  ETB_ASSIGN(const uint32_t floats, context.natural(source));
  const uint32_t input = builder.add_runtime_quantised(floats, 1);
  ETB_ASSIGN(const uint32_t bias, bias_of(context, bias_argument, from.sizes[0], input, filter));
  ETB_ASSIGN(const uint32_t out, context.add_result());
  builder.add_node(XnnOperator::kFullyConnected, {input, filter, bias}, {out});
  return {};
}

// Lowers [..., K] times a matrix of two dimensions.
Status product(LoweringContext& context, uint32_t left, Matrix weight, const Bias& bias_argument,
               uint32_t right) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(uint32_t input, context.natural(left));
  const auto& weight_sizes = builder.value(weight.id).sizes;
  if (weight_sizes.size() != 2 || context.graph().rank(left) == 0)
    return reject("rank", "factors of rank ", context.graph().rank(left), " and ", weight_sizes.size());
  const uint32_t inner = weight_sizes[weight.is_transposed ? 1 : 0],
                 outputs = weight_sizes[weight.is_transposed ? 0 : 1];
  if (builder.constant(weight.id)) {
    if (context.is_quantised()) {
      const LoweredValue* integers = context.values().find_integers(right);
      if (!weight.is_transposed || (integers != nullptr && has_other_scales(builder.value(integers->id))))
        return reject("quant", "weight, expected [outputs, inputs] with a scale an output");
      ETB_ASSIGN(weight.id, add_filter(context, builder.constant(weight.id), right, 0, XnnDatatype::kQint8));
    }
    ETB_ASSIGN(const uint32_t bias, bias_of(context, bias_argument, outputs, input, weight.id));
    const bool is_vector = context.graph().rank(left) == 1;
    if (is_vector) {
      ETB_ASSIGN(input, builder.add_reshape(input, {{1, inner}, 0}));
      const uint32_t row = builder.add_like(input, {{1, outputs}, 0});
      context.adopt_result_params(row);
      ETB_TRY(check_multipliers(context, input, weight.id, row));
      ETB_TRY(add_product(context, input, weight, bias, row));
      ETB_ASSIGN(const uint32_t flat, builder.add_reshape(row, {{outputs}, 0}));
      context.define(context.result(), {flat, {0}});
      return {};
    }
    ETB_ASSIGN(const uint32_t out, context.add_result());
    ETB_TRY(check_multipliers(context, input, weight.id, out));
    return add_product(context, input, weight, bias, out);
  }
  if (builder.constant(input) || context.graph().extents(left).dynamic_dims != 0)
    return reject("constant", "a weight known only at run time, expected a constant");
  if (context.is_quantised()) return reject("quant", "a weight known only at run time, expected a constant");
  // Both factors change between runs: one product with a batch of 1.
  const auto rows = static_cast<uint32_t>(numel_of(context.graph().sizes(left)) / inner);
  ETB_ASSIGN(const uint32_t a, builder.add_reshape(input, {{1, rows, inner}, 0}));
  Extents wide = builder.extents(weight.id);
  wide.sizes.insert(wide.sizes.begin(), 1);
  wide.dynamic_dims <<= 1;
  ETB_ASSIGN(const uint32_t b, builder.add_reshape(weight.id, std::move(wide)));
  uint32_t out = builder.add_like(a, {{1, rows, outputs}, 0});
  builder.add_node(XnnOperator::kBatchMatrixMultiply, {a, b}, {out}).flags =
      weight.is_transposed ? kFlagTransposeB : 0;
  if (has_bias(bias_argument)) {
    ETB_ASSIGN(const uint32_t bias, bias_of(context, bias_argument, outputs, out, weight.id));
    out = add_binary(builder, XnnOperator::kAdd, out, bias, builder.extents(out));
  }
  ETB_ASSIGN(const uint32_t flat, builder.add_reshape(out, context.graph().extents(context.result())));
  context.define(context.result(), {flat, identity(context.graph().rank(context.result()))});
  return {};
}

Status lower_linear(LoweringContext& context, ops::linear_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const uint32_t weight, args.weight().id());
  if (context.graph().rank(weight) != 2)
    return reject("rank", "weight of rank ", context.graph().rank(weight), ", expected 2");
  if (const auto source = context.values().dynamic_source(input))
    return dynamic_product(context, *source, weight, true, args.bias());
  ETB_ASSIGN(Matrix factor, right_factor(context, weight));
  factor.is_transposed = !factor.is_transposed;  // the weight is [outputs, inputs]
  return product(context, input, factor, args.bias(), weight);
}

Status lower_mm(LoweringContext& context, ops::mm_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t left, args.self().id());
  ETB_ASSIGN(const uint32_t right, args.mat2().id());
  if (const auto source = context.values().dynamic_source(left))
    return dynamic_product(context, *source, right, false, std::nullopt);
  ETB_ASSIGN(const Matrix factor, right_factor(context, right));
  return product(context, left, factor, std::nullopt, right);
}

Status lower_addmm(LoweringContext& context, ops::addmm_default<NodeArguments> args) {
  ETB_ASSIGN(const double beta, args.beta().number_or(1));
  ETB_ASSIGN(const double alpha, args.alpha().number_or(1));
  if (beta != 1 || alpha != 1) return reject("attribute", "beta and alpha, expected 1");
  ETB_ASSIGN(const uint32_t left, args.mat1().id());
  ETB_ASSIGN(const uint32_t right, args.mat2().id());
  if (const auto source = context.values().dynamic_source(left))
    return dynamic_product(context, *source, right, false, args.self());
  ETB_ASSIGN(const Matrix factor, right_factor(context, right));
  return product(context, left, factor, args.self(), right);
}

constexpr Op kRows[] = {
    op_row<ops::linear_default, lower_linear>({.quantised = QuantKind::kComputes,
                                               .min_rank = 1,
                                               .constraint = "The bias is a constant.",
                                               .traits = kEndsChain | kPreserved}),
    op_row<ops::addmm_default, lower_addmm>({.quantised = QuantKind::kComputes,
                                             .min_rank = 1,
                                             .max_rank = 2,
                                             .constraint = "self is a constant; beta and alpha are 1.",
                                             .traits = kEndsChain,
                                             .bias = "self"}),
    op_row<ops::mm_default, lower_mm>(
        {.quantised = QuantKind::kComputes, .min_rank = 2, .max_rank = 2, .traits = kEndsChain}),
};

}  // namespace

extern const OpList linear_ops = kRows;

}  // namespace etb::xnnpack
