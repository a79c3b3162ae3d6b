// SPDX-License-Identifier: Apache-2.0
// Dispatches of matrix products and convolutions.
#include <algorithm>

#include "plugins/gpu/plan/product.hpp"

namespace etb::gpu {

namespace {

void add_product(const NodeDispatch& context, const Product& product, const ProductOperands& operands) {
  if (product.bits != 0 && context.family != KernelFamily::kGroups)
    return dispatch_packed_product(context, product, operands);
  switch (context.family) {
    case KernelFamily::kRegisters:
      return dispatch_register_product(context, product, operands);
    case KernelFamily::kTiles:
      return dispatch_tile_product(context, product, operands);
    case KernelFamily::kVectors:
      return dispatch_vector_product(context, product, operands);
    case KernelFamily::kGroups:
      return dispatch_group_product(context, product, operands);
  }
}

void dispatch_exact_product(const NodeDispatch& context, const Product& product,
                            const ProductOperands& operands) {
  Dispatch& dispatch = context.add_empty(Kernel::kExactProduct);
  bind_product(context, dispatch, product, operands);
  dispatch.turns = product.depth + 1;
  dispatch.set_linear(uint64_t{product.rows} * product.columns);
}

// True if an invocation of kRegisters computes 8 rows of 16 columns.
bool uses_wide_tile(const NodeDispatch& context, const Product& product) {
  const bool by_rule = product.rows > 4 && product.columns > 32;
  return context.uses(Tile::kWide, by_rule) || (context.tile == Tile::kThin && by_rule);
}

// A convolution of windows of one element: for each image, filters times pixels.
void dispatch_pointwise(const NodeDispatch& context) {
  const Shape &in = context.input(0), &out = context.result();
  Product product;
  product.rows = out.sizes[1];
  product.columns = out.product(2, 4);
  product.depth = in.sizes[1];
  product.batch = out.sizes[0];
  product.b_batch = product.depth * product.columns;
  product.y_batch = product.rows * product.columns;
  product.b_row = product.columns;
  product.bias_row = 1;
  product.low = context.node.floats[field::kLow];
  product.high = context.node.floats[field::kHigh];
  const auto& inputs = context.node.inputs;
  add_product(context, product, {inputs[1], inputs[0], inputs.size() > 2 ? inputs[2] : kNoValue});
}

}  // namespace

bool is_exact_product(const GpuGraph& graph, const GpuNode& node, std::span<const Shape> bounds) {
  constexpr uint32_t kMostDepth = 64;
  // So few that their time is less than that of a dispatch. More are left to the kernels that are made for speed.
  constexpr uint64_t kMostProducts = 2048;
  if (node.op != Operator::kMatmul) return false;
  const GpuValue& weight = graph.value(node.inputs[1]);
  const bool is_constant = weight.role == ValueRole::kConstant || weight.role == ValueRole::kInline;
  const bool has_floats = weight.factors == kNoValue && !weight.has_halves && weight.codes.bits == 0;
  const bool is_plain =
      node.floats[field::kAlpha] == 1 && (node.inputs.size() < 3 || node.floats[field::kBeta] == 1);
  if (!is_constant || !has_floats || !is_plain || weight.shape.rank != 2) return false;
  const uint32_t depth = weight.shape.sizes[node.ints[field::kTransposedB] != 0 ? 1 : 0];
  return depth <= kMostDepth && bounds[node.output].numel() * depth <= kMostProducts;
}

void dispatch_register_product(const NodeDispatch& context, const Product& product,
                               const ProductOperands& operands) {
  const bool is_whole = product.columns % 4 == 0 && product.b_row % 4 == 0 && product.b_batch % 4 == 0;
  const bool is_wide = uses_wide_tile(context, product);
  Dispatch& dispatch =
      context.add_empty(is_wide ? (is_whole ? Kernel::kMatmulWide : Kernel::kMatmulWideEdge)
                                : (is_whole ? Kernel::kMatmulNarrow : Kernel::kMatmulNarrowEdge));
  bind_product(context, dispatch, product, operands);
  dispatch.turns = product.depth;
  dispatch.items = {divide_up(product.columns, is_wide ? 16 : 4), divide_up(product.rows, is_wide ? 8 : 4),
                    product.batch};
}

void dispatch_packed_product(const NodeDispatch& context, const Product& product,
                             const ProductOperands& operands) {
  const PackedProductKernels kernels = packed_product_kernels(product.bits, product.columns);
  const bool is_wide = uses_wide_tile(context, product);
  Dispatch& dispatch = context.add_empty(is_wide ? kernels.wide : kernels.narrow);
  bind_product(context, dispatch, product, operands);
  if (product.group != 0) dispatch.add(product.group);
  dispatch.turns = product.depth + (product.group != 0 ? divide_up(product.depth, product.group) : 0);
  dispatch.items = {divide_up(product.columns, is_wide ? 16 : 4), divide_up(product.rows, is_wide ? 8 : 4),
                    product.batch};
}

PackedProductKernels packed_product_kernels(uint32_t bits, uint32_t columns) {
  const bool is_whole = columns % 4 == 0;
  if (bits == 16 && is_whole) return {Kernel::kMatmul16Wide, Kernel::kMatmul16Narrow};
  if (bits == 16) return {Kernel::kMatmul16WideEdge, Kernel::kMatmul16NarrowEdge};
  if (bits == 4 && is_whole) return {Kernel::kMatmul4Wide, Kernel::kMatmul4Narrow};
  if (bits == 4) return {Kernel::kMatmul4WideEdge, Kernel::kMatmul4NarrowEdge};
  if (is_whole) return {Kernel::kMatmul8Wide, Kernel::kMatmul8Narrow};
  return {Kernel::kMatmul8WideEdge, Kernel::kMatmul8NarrowEdge};
}

void bind_result(const NodeDispatch& context, Dispatch& dispatch, uint32_t other) {
  dispatch.bind(context.residual != nullptr ? context.residual->added : other);
  dispatch.bind(context.written());
}

void add_residual(const NodeDispatch& context, Dispatch& dispatch) {
  const Residual none, &residual = context.residual != nullptr ? *context.residual : none;
  const uint32_t has_residual = context.residual != nullptr ? 1 : 0;
  dispatch.chain.steps[0] = has_residual;  // a variant of the kernel
  dispatch.add(has_residual);
  dispatch.add_float(residual.sum_low);
  dispatch.add_float(residual.sum_high);
}

void bind_product(const NodeDispatch& context, Dispatch& dispatch, const Product& product,
                  const ProductOperands& operands) {
  const bool has_bias = operands.bias != kNoValue;
  dispatch.bind(operands.a);
  dispatch.bind(operands.b);
  if (operands.factors != kNoValue) dispatch.bind(operands.factors);
  dispatch.bind(has_bias ? operands.bias : operands.a);
  bind_result(context, dispatch, operands.a);
  for (const uint32_t word :
       {product.rows, product.columns, product.depth, product.a_batch, product.b_batch, product.y_batch,
        product.b_row, has_bias ? 1u : 0u, product.bias_row, product.bias_column})
    dispatch.add(word);
  for (const float number : {product.alpha, product.beta, product.low, product.high})
    dispatch.add_float(number);
  add_residual(context, dispatch);
}

ConvolutionKind convolution_kind(const GpuNode& node, const Shape& weight) {
  const auto groups = static_cast<uint32_t>(node.ints[field::kGroups]);
  if (weight.sizes[1] == 1 && weight.sizes[0] == groups) return ConvolutionKind::kDepthwise;
  const auto pair_is = [&](uint32_t at, int32_t number) {
    return node.ints[at] == number && node.ints[at + 1] == number;
  };
  if (groups == 1 && weight.sizes[2] == 1 && weight.sizes[3] == 1 && pair_is(field::kStride, 1) &&
      pair_is(field::kPadding, 0))
    return ConvolutionKind::kProduct;
  return ConvolutionKind::kGeneral;
}

ConvolutionKind planned_kind(const GpuNode& node, const GpuValue& weight, const Shape& shape) {
  return weight.has_filters ? ConvolutionKind::kGeneral : convolution_kind(node, shape);
}

void dispatch_matmul(const NodeDispatch& context) {
  const Shape &a = context.input(0), &b = context.input(1), &out = context.result();
  const auto& inputs = context.node.inputs;
  const bool is_batched = b.rank == 3;
  Product product;
  product.columns = out.sizes[out.rank - 1];
  product.depth = a.sizes[a.rank - 1];
  product.batch = is_batched ? b.sizes[0] : 1;
  product.rows = is_batched ? out.sizes[1] : out.product(0, out.rank - 1);
  product.a_batch = product.rows * product.depth;
  product.b_batch = product.depth * product.columns;
  product.y_batch = product.rows * product.columns;
  // Packed rows are padded (packing.hpp).
  const GpuValue& factor = context.graph.value(inputs[1]);
  const bool is_packed =
      context.number(field::kTransposedB) != 0 || factor.factors != kNoValue || factor.has_halves;
  if (factor.has_halves) product.bits = 16;
  if (factor.factors != kNoValue) {
    product.bits = factor.codes.bits;
    product.group = std::max(factor.codes.group != 0 ? factor.codes.group : product.depth, 1u);
  }
  product.b_row = is_packed ? divide_up(product.columns, 4) * 4 : product.columns;
  if (!is_batched) product.b_batch = 0;
  const auto& floats = context.node.floats;
  product.alpha = floats[field::kAlpha];
  product.beta = floats[field::kBeta];
  product.low = floats[field::kMatmulLow];
  product.high = floats[field::kMatmulHigh];
  uint32_t bias = kNoValue;
  if (inputs.size() > 2) {
    bias = inputs[2];
    const Shape& shape = context.input(2);
    product.bias_column = shape.rank > 0 && shape.sizes[shape.rank - 1] != 1 ? 1 : 0;
    product.bias_row = shape.rank > 1 && shape.sizes[0] != 1 ? shape.sizes[1] : 0;
  }
  const ProductOperands operands{inputs[0], inputs[1], bias, factor.factors};
  if (context.node.is_exact) return dispatch_exact_product(context, product, operands);
  add_product(context, product, operands);
}

void bind_convolution(const NodeDispatch& context, Dispatch& dispatch, bool is_depthwise) {
  const Shape &in = context.input(0), &weight = context.input(1), &out = context.result();
  const auto& inputs = context.node.inputs;
  const bool has_bias = inputs.size() > 2;
  const auto groups = static_cast<uint32_t>(context.number(field::kGroups));
  const uint32_t channels = out.sizes[1] / groups;
  dispatch.bind(inputs[0]);
  dispatch.bind(inputs[1]);
  if (const uint32_t factors = context.graph.value(inputs[1]).factors; factors != kNoValue)
    dispatch.bind(factors);
  dispatch.bind(has_bias ? inputs[2] : inputs[0]);
  bind_result(context, dispatch, inputs[0]);
  if (is_depthwise) {
    dispatch.add(groups);
  } else {
    for (const uint32_t word : {groups, weight.sizes[1], channels}) dispatch.add(word);
  }
  for (const uint32_t word :
       {in.sizes[2], in.sizes[3], out.sizes[2], out.sizes[3], weight.sizes[2], weight.sizes[3]})
    dispatch.add(word);
  for (const uint32_t pair : {field::kStride, field::kPadding, field::kDilation}) {
    dispatch.add_int(context.number(pair));
    dispatch.add_int(context.number(pair + 1));
  }
  dispatch.add(has_bias ? 1 : 0);
  dispatch.add_float(context.node.floats[field::kLow]);
  dispatch.add_float(context.node.floats[field::kHigh]);
  add_residual(context, dispatch);
}

namespace {

void dispatch_register_convolution(const NodeDispatch& context, bool is_depthwise, Kernel kernel) {
  const Shape &weight = context.input(1), &out = context.result();
  Dispatch& dispatch = context.add_empty(kernel);
  bind_convolution(context, dispatch, is_depthwise);
  const auto groups = static_cast<uint32_t>(context.number(field::kGroups));
  const uint32_t channels = out.sizes[1] / groups;
  const uint64_t lines = uint64_t{is_depthwise ? 1 : weight.sizes[1]} * weight.sizes[2];
  dispatch.turns = lines * (weight.sizes[3] + 1) + weight.sizes[1];
  dispatch.items = {divide_up(out.sizes[3], 4) * out.sizes[2],
                    is_depthwise ? groups : groups * divide_up(channels, 8), out.sizes[0]};
}

}  // namespace

void dispatch_convolution(const NodeDispatch& context) {
  const GpuValue& weight = context.graph.value(context.node.inputs[1]);
  const ConvolutionKind kind = planned_kind(context.node, weight, context.input(1));
  const bool is_depthwise = kind == ConvolutionKind::kDepthwise;
  if (weight.factors != kNoValue)
    return dispatch_register_convolution(context, is_depthwise,
                                         is_depthwise ? Kernel::kDepthwise8 : Kernel::kConvolution8);
  if (kind == ConvolutionKind::kProduct) return dispatch_pointwise(context);
  if (context.family == KernelFamily::kTiles) return dispatch_tile_convolution(context, is_depthwise);
  if (context.family == KernelFamily::kVectors && has_vector_convolution(context, is_depthwise))
    return dispatch_vector_convolution(context, is_depthwise);
  if (context.family == KernelFamily::kGroups && !is_depthwise) return dispatch_group_convolution(context);
  dispatch_register_convolution(context, is_depthwise,
                                is_depthwise ? Kernel::kDepthwiseConvolution : Kernel::kConvolution);
}

}  // namespace etb::gpu
