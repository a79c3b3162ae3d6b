// SPDX-License-Identifier: Apache-2.0
// Layer and group normalisation, composed of means over rows, squares and products: XNNPACK has no operator
// for them.
#include "ops/native_group_norm.hpp"
#include "ops/native_layer_norm.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Returns (x - mean) / sqrt(variance + eps) over dimension 1 of [rows, elements, 1, 1], in float32: float16 has neither
// small eps nor squares above 65504.
uint32_t normalize(LoweringContext& context, uint32_t rows, double eps) {
  XnnGraphBuilder& builder = context.builder();
  rows = add_widened(builder, rows);
  const Extents extents = builder.extents(rows);
  const uint32_t mean = add_mean(builder, rows);
  const uint32_t centered = add_binary(builder, XnnOperator::kSubtract, rows, mean, extents);
  const uint32_t variance = add_mean(builder, add_unary(builder, XnnOperator::kSquare, centered));
  const uint32_t shifted =
      add_binary(builder, XnnOperator::kAdd, variance,
                 builder.add_floats({1}, {static_cast<float>(eps)}, rows), builder.extents(variance));
  const uint32_t scale = add_unary(builder, XnnOperator::kReciprocalSquareRoot, shifted);
  return add_binary(builder, XnnOperator::kMultiply, centered, scale, extents);
}

// Multiplies by the weight and adds the bias, both with the given sizes. The last step writes the result.
Status scale_and_shift(LoweringContext& context, const NodeArguments::Tensor& weight,
                       const NodeArguments::Tensor& bias, uint32_t id, const std::vector<int64_t>& sizes) {
  XnnGraphBuilder& builder = context.builder();
  const etb_dtype dtype = builder.dtype(id);
  for (const auto& [argument, op] :
       {std::pair{weight, XnnOperator::kMultiply}, std::pair{bias, XnnOperator::kAdd}}) {
    if (!argument.has_value()) continue;
    ETB_ASSIGN(const ConstantPtr constant, context.constant(argument));
    if (numel_of(constant->sizes) != numel_of(sizes))
      return reject("attribute", argument.name(), ": of other sizes");
    const uint32_t factor =
        builder.add_constant(reshaped(converted(constant, dtype), sizes), builder.value(id).datatype);
    id = add_binary(builder, op, id, factor, builder.extents(id));
  }
  ETB_ASSIGN(const XnnDatatype datatype, context.result_datatype());
  if (builder.value(id).datatype != datatype) {
    ETB_ASSIGN(const uint32_t out, context.add_result());
    builder.add_node(XnnOperator::kConvert, {id}, {out});
    return {};
  }
  context.define(context.result(), {id, identity(context.graph().rank(context.result()))});
  return {};
}

Status lower_layer_norm(LoweringContext& context, ops::native_layer_norm_default<NodeArguments> args) {
  ETB_TRY(check_only_first_result_is_read(context, "statistics"));
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const std::vector<int64_t> shape, args.normalized_shape().integers());
  ETB_ASSIGN(const double eps, args.eps().number_or(1e-5));
  const Extents extents = context.graph().extents(input);
  const size_t rank = extents.sizes.size();
  if (shape.empty() || shape.size() > rank) return reject("attribute", "normalized_shape");
  const size_t leading = rank - shape.size();
  if (extents.dynamic_dims >> leading != 0)
    return reject("dynamic", "normalised dimensions, expected static ones");
  uint64_t rows = 1;
  for (size_t d = 0; d < leading; ++d) rows *= extents.sizes[d];
  const auto elements = static_cast<uint32_t>(numel_of(shape));
  ETB_ASSIGN(const uint32_t in, context.natural(input));
  ETB_ASSIGN(const uint32_t flat, builder.add_reshape(in, {{static_cast<uint32_t>(rows), elements, 1, 1},
                                                           extents.dynamic_dims != 0 ? 1u : 0u}));
  ETB_ASSIGN(const uint32_t out, builder.add_reshape(normalize(context, flat, eps), extents));
  return scale_and_shift(context, args.weight(), args.bias(), out, shape);
}

Status lower_group_norm(LoweringContext& context, ops::native_group_norm_default<NodeArguments> args) {
  ETB_TRY(check_only_first_result_is_read(context, "statistics"));
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t input, args.input().id());
  ETB_ASSIGN(const int64_t groups, args.group().integer_or(1));
  ETB_ASSIGN(const double eps, args.eps().number_or(1e-5));
  const Extents extents = context.graph().extents(input);
  if (extents.dynamic_dims != 0) return reject("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> sizes = context.graph().sizes(input);
  if (sizes.size() < 2 || groups < 1 || sizes[1] % groups != 0) return reject("attribute", "group: ", groups);
  const int64_t rows = sizes[0] * groups;
  ETB_ASSIGN(const uint32_t in, context.natural(input));
  ETB_ASSIGN(
      const uint32_t flat,
      builder.add_reshape(
          in, {{static_cast<uint32_t>(rows), static_cast<uint32_t>(numel_of(sizes) / rows), 1, 1}, 0}));
  ETB_ASSIGN(const uint32_t out, builder.add_reshape(normalize(context, flat, eps), extents));
  std::vector<int64_t> channels(sizes.size() - 1, 1);
  channels[0] = sizes[1];
  return scale_and_shift(context, args.weight(), args.bias(), out, channels);
}

constexpr Op kRows[] = {
    op_row<ops::native_layer_norm_default, lower_layer_norm>(
        {.min_rank = 1, .constraint = "Weights are constants; the second and third result are not read."}),
    op_row<ops::native_group_norm_default, lower_group_norm>(
        {.min_rank = 1,
         .max_rank = 5,
         .constraint = "Weights are constants; the second and third result are not read.",
         .traits = kStatic}),
};

}  // namespace

extern const OpList normalization_ops = kRows;

}  // namespace etb::xnnpack
