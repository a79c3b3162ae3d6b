// SPDX-License-Identifier: Apache-2.0
// Matrix products: FullyConnected if the weight is a constant, else BatchMatrixMultiply.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Returns the bias as a constant with one element per output, or kXnnNoValue if there is none.
Result<uint32_t> bias_of(Lowering& l, const char* name, int64_t outputs, uint32_t input, uint32_t filter) {
  if (name == nullptr || !l.has(name)) return kXnnNoValue;
  ETB_ASSIGN(const uint32_t value, l.value(name));
  ETB_ASSIGN(const ConstantPtr bias, l.constant(value, name));
  if (numel_of(bias->sizes) != outputs)
    return Lowering::refuse("attribute", name, ": expected one element an output");
  return l.add_bias(bias->sizes.size() == 1 ? bias : reshaped(bias, {outputs}), input, filter);
}

Status add_product(Lowering& l, uint32_t input, const Matrix& weight, uint32_t bias, uint32_t out) {
  XnnNode& node = l.draft().add_node(XnnOperator::kFullyConnected, {input, weight.id, bias}, {out});
  node.flags = weight.is_transposed ? 0 : kFlagTransposeWeights;  // XNNPACK's own order is [outputs, inputs]
  return {};
}

// Adds the weight of a dynamically quantised layer, [outputs, inputs].
uint32_t add_integer_filter(Lowering& l, uint32_t weight) {
  Draft& draft = l.draft();
  const XnnValue from = draft.value(weight);
  const bool is_by_group = from.quantisation == XnnQuantisation::kPerChannelGroup;
  const XnnDatatype datatype = !l.has_four_bits(weight) ? XnnDatatype::kQcint8
                               : is_by_group            ? XnnDatatype::kQbint4
                                                        : XnnDatatype::kQcint4;
  const ConstantPtr& bytes = draft.constant(weight);
  const uint32_t filter = draft.add_constant(
      l.has_four_bits(weight) ? packed_four_bits(bytes) : std::make_shared<Constant>(*bytes), datatype);
  XnnValue& made = draft.value(filter);
  made.quantisation = is_by_group ? from.quantisation : XnnQuantisation::kPerChannel;
  if (is_by_group) {
    made.group_size = from.group_size;
    for (const float scale : from.scales) made.scales_bf16.push_back(to_bfloat16(scale));
  } else {
    made.scales = from.scales.empty() ? std::vector<float>(from.sizes[0], from.scale) : from.scales;
  }
  return filter;
}

// Lowers a layer whose input is quantised at run time by row: int8 products, float results.
Status dynamic_product(Lowering& l, uint32_t source, uint32_t right, bool is_weight_transposed,
                       const char* bias_name) {
  Draft& draft = l.draft();
  const auto weight = l.integers_of(right);
  if (!weight || !draft.constant(weight->id)) return Lowering::refuse("quant", "weight: no int8 constant");
  const bool lies_as_outputs = is_weight_transposed == is_identity(weight->perm);
  const XnnValue from = draft.value(weight->id);
  if (!lies_as_outputs || from.sizes.size() != 2 ||
      (from.quantisation == XnnQuantisation::kPerChannel && from.channel_dim != 0))
    return Lowering::refuse("quant", "weight, expected [outputs, inputs] with a scale an output");
  if (from.quantisation == XnnQuantisation::kPerTensor && from.zero_point != 0)
    return Lowering::refuse("quant", "weight with zero point ", from.zero_point, ", expected 0");
  const uint32_t filter = add_integer_filter(l, weight->id);
  ETB_ASSIGN(const uint32_t floats, l.natural(source));
  const uint32_t input = l.quantised_at_run_time(floats, 1);
  ETB_ASSIGN(const uint32_t bias, bias_of(l, bias_name, from.sizes[0], input, filter));
  ETB_ASSIGN(const uint32_t out, l.add_result());
  draft.add_node(XnnOperator::kFullyConnected, {input, filter, bias}, {out});
  return {};
}

// Lowers [..., K] times a matrix of two dimensions.
Status product(Lowering& l, uint32_t left, Matrix weight, const char* bias_name, uint32_t right) {
  Draft& draft = l.draft();
  ETB_ASSIGN(uint32_t input, l.natural(left));
  const auto& weight_sizes = draft.value(weight.id).sizes;
  if (weight_sizes.size() != 2 || l.rank(left) == 0)
    return Lowering::refuse("rank", "factors of rank ", l.rank(left), " and ", weight_sizes.size());
  const uint32_t inner = weight_sizes[weight.is_transposed ? 1 : 0],
                 outputs = weight_sizes[weight.is_transposed ? 0 : 1];
  if (draft.constant(weight.id)) {
    if (l.is_quantised()) {
      if (!weight.is_transposed) return Lowering::refuse("quant", "weight, expected [outputs, inputs]");
      ETB_ASSIGN(weight.id, l.add_filter(draft.constant(weight.id), right, 0, XnnDatatype::kQint8));
    }
    ETB_ASSIGN(const uint32_t bias, bias_of(l, bias_name, outputs, input, weight.id));
    const bool is_vector = l.rank(left) == 1;
    if (is_vector) {
      ETB_ASSIGN(input, draft.add_reshape(input, {{1, inner}, 0}));
      const uint32_t row = draft.add_like(input, {{1, outputs}, 0});
      ETB_TRY(add_product(l, input, weight, bias, row));
      ETB_ASSIGN(const uint32_t flat, draft.add_reshape(row, {{outputs}, 0}));
      l.define(l.result(), {flat, {0}});
      return {};
    }
    ETB_ASSIGN(const uint32_t out, l.add_result());
    return add_product(l, input, weight, bias, out);
  }
  if (draft.constant(input) || l.extents(left).dynamic_dims != 0)
    return Lowering::refuse("constant", "a weight known only at run time, expected a constant");
  if (l.is_quantised())
    return Lowering::refuse("quant", "a weight known only at run time, expected a constant");
  // Both factors change between runs: one product with a batch of 1.
  const auto rows = static_cast<uint32_t>(numel_of(l.sizes(left)) / inner);
  ETB_ASSIGN(const uint32_t a, draft.add_reshape(input, {{1, rows, inner}, 0}));
  Draft::Extents wide = draft.extents(weight.id);
  wide.sizes.insert(wide.sizes.begin(), 1);
  wide.dynamic_dims <<= 1;
  ETB_ASSIGN(const uint32_t b, draft.add_reshape(weight.id, std::move(wide)));
  uint32_t out = draft.add_like(a, {{1, rows, outputs}, 0});
  draft.add_node(XnnOperator::kBatchMatrixMultiply, {a, b}, {out}).flags =
      weight.is_transposed ? kFlagTransposeB : 0;
  if (bias_name != nullptr && l.has(bias_name)) {
    ETB_ASSIGN(const uint32_t bias, bias_of(l, bias_name, outputs, out, weight.id));
    out = add_binary(draft, XnnOperator::kAdd, out, bias, draft.extents(out));
  }
  ETB_ASSIGN(const uint32_t flat, draft.add_reshape(out, l.extents(l.result())));
  l.define(l.result(), {flat, identity(l.rank(l.result()))});
  return {};
}

Status lower_linear(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const uint32_t weight, l.value("weight"));
  if (l.rank(weight) != 2) return Lowering::refuse("rank", "weight of rank ", l.rank(weight), ", expected 2");
  if (const auto source = l.dynamic_source(input)) return dynamic_product(l, *source, weight, true, "bias");
  ETB_ASSIGN(Matrix factor, right_factor(l, weight));
  factor.is_transposed = !factor.is_transposed;  // the weight is [outputs, inputs]
  return product(l, input, factor, "bias", weight);
}

Status lower_mm(Lowering& l) {
  ETB_ASSIGN(const uint32_t left, l.value("self"));
  ETB_ASSIGN(const uint32_t right, l.value("mat2"));
  if (const auto source = l.dynamic_source(left)) return dynamic_product(l, *source, right, false, nullptr);
  ETB_ASSIGN(const Matrix factor, right_factor(l, right));
  return product(l, left, factor, nullptr, right);
}

Status lower_addmm(Lowering& l) {
  ETB_ASSIGN(const double beta, l.number("beta", 1));
  ETB_ASSIGN(const double alpha, l.number("alpha", 1));
  if (beta != 1 || alpha != 1) return Lowering::refuse("attribute", "beta and alpha, expected 1");
  ETB_ASSIGN(const uint32_t left, l.value("mat1"));
  ETB_ASSIGN(const uint32_t right, l.value("mat2"));
  if (const auto source = l.dynamic_source(left)) return dynamic_product(l, *source, right, false, "self");
  ETB_ASSIGN(const Matrix factor, right_factor(l, right));
  return product(l, left, factor, "self", right);
}

constexpr Op kRows[] = {
    {.name = "aten.linear.default",
     .lower = lower_linear,
     .quantised = QuantKind::kComputes,
     .min_rank = 1,
     .constraint = "The bias is a constant.",
     .traits = kEndsChain | kPreserved},
    {.name = "aten.addmm.default",
     .lower = lower_addmm,
     .quantised = QuantKind::kComputes,
     .min_rank = 1,
     .max_rank = 2,
     .constraint = "beta and alpha are 1.",
     .traits = kEndsChain},
    {.name = "aten.mm.default",
     .lower = lower_mm,
     .quantised = QuantKind::kComputes,
     .min_rank = 2,
     .max_rank = 2,
     .traits = kEndsChain},
};

}  // namespace

extern const OpList linear_ops = kRows;

}  // namespace etb::xnnpack
