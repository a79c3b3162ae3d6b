// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, folded into the layer before it.
#include <cmath>

#include "ops/_native_batch_norm_legit_no_training.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

using BatchNormArguments = ops::_native_batch_norm_legit_no_training_default<NodeArguments>;

// y = x * scale + shift along the channels.
struct Affine {
  ConstantPtr scale, shift;
};

Result<Affine> read_batch_norm(LoweringContext& context, const BatchNormArguments& args, int64_t channels) {
  ETB_ASSIGN(const double eps, args.eps().number_or(1e-5));
  const std::vector<int64_t> sizes = {channels};
  const auto constant_or = [&](const NodeArguments::Tensor& argument,
                               float otherwise) -> Result<ConstantPtr> {
    if (argument.has_value()) return context.constant(argument);
    return make_floats(sizes, std::vector<float>(static_cast<size_t>(channels), otherwise));
  };
  ETB_ASSIGN(ConstantPtr mean, context.constant(args.running_mean()));
  ETB_ASSIGN(ConstantPtr variance, context.constant(args.running_var()));
  ETB_ASSIGN(ConstantPtr weight, constant_or(args.weight(), 1));
  ETB_ASSIGN(ConstantPtr bias, constant_or(args.bias(), 0));
  const std::vector<ConstantPtr> parts = {mean, variance, weight, bias};
  for (const ConstantPtr& part : parts) {
    if (numel_of(part->sizes) != channels)
      return reject("attribute", numel_of(part->sizes), " parameters, expected ", channels);
  }
  const etb_dtype dtype = ETB_DTYPE_FLOAT32;
  Affine affine;
  affine.scale = computed(parts, sizes, dtype, [eps](const auto& p) {
    std::vector<float> out(p[0].size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(p[2][i] / std::sqrt(double{p[1][i]} + eps));
    return out;
  });
  affine.shift = computed(parts, sizes, dtype, [eps](const auto& p) {
    std::vector<float> out(p[0].size());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(p[3][i] - p[0][i] * (p[2][i] / std::sqrt(double{p[1][i]} + eps)));
    return out;
  });
  return affine;
}

bool has_filter(XnnOperator op) {
  return op == XnnOperator::kDepthwiseConv2d || op == XnnOperator::kFullyConnected ||
         op == XnnOperator::kConv2d || op == XnnOperator::kConvTranspose2d;
}

// True if the last dimension of a node's filter has its outputs, not the first.
bool has_outputs_last(const XnnNode& node) {
  return node.op == XnnOperator::kDepthwiseConv2d ||
         (node.op == XnnOperator::kFullyConnected && (node.flags & kFlagTransposeWeights) != 0);
}

// Multiplies the weights of each output by its factor.
ConstantPtr scaled_filter(const ConstantPtr& filter, const ConstantPtr& factors, bool is_last,
                          size_t outputs) {
  return computed({filter, factors}, filter->sizes, filter->dtype,
                  [is_last, outputs](std::vector<std::vector<float>> p) {
                    const std::vector<float>& scale = p[1];
                    const size_t row = is_last ? outputs : p[0].size() / outputs;
                    for (size_t first = 0, n = 0; first < p[0].size(); first += row, ++n)
                      for (size_t i = 0; i < row; ++i) p[0][first + i] *= scale[is_last ? i : n];
                    return std::move(p[0]);
                  });
}

ConstantPtr scaled_bias(const ConstantPtr& bias, const Affine& affine, int64_t channels, etb_dtype dtype) {
  return computed({bias, affine.scale, affine.shift}, {channels}, dtype, [](const auto& p) {
    std::vector<float> out(p[0].size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = p[0][i] * p[1][i] + p[2][i];
    return out;
  });
}

// Folds into the weights of the input's producer. Returns false if it cannot. `axis`: the channels in the input's
// payload dimensions.
bool fold_into(XnnGraphBuilder& builder, XnnNode* node, const Affine& affine, int64_t channels,
               uint32_t axis) {
  if (node == nullptr || node->is_clamped || !has_filter(node->op)) return false;
  // A layer's outputs are the last dimension. Another one may be as large.
  if (axis + 1 != builder.value(node->outputs[0]).sizes.size()) return false;
  const ConstantPtr filter = builder.constant(node->inputs[1]);
  const XnnDatatype datatype = builder.value(node->inputs[1]).datatype;
  if (!filter || (datatype != XnnDatatype::kFloat32 && datatype != XnnDatatype::kFloat16)) return false;
  const bool is_last = has_outputs_last(*node);
  if ((is_last ? filter->sizes.back() : filter->sizes.front()) != channels) return false;
  ConstantPtr shifted = affine.shift;
  if (node->inputs[2] != kXnnNoValue)
    shifted = scaled_bias(builder.constant(node->inputs[2]), affine, channels, filter->dtype);
  const ConstantPtr scaled = scaled_filter(filter, affine.scale, is_last, static_cast<size_t>(channels));
  const uint32_t scaled_id = builder.add_constant(scaled, datatype);
  const uint32_t shifted_id = builder.add_constant(converted(shifted, filter->dtype), datatype);
  node->inputs[1] = scaled_id;
  node->inputs[2] = shifted_id;
  return true;
}

Status lower_batch_norm(LoweringContext& context, BatchNormArguments args) {
  ETB_ASSIGN(const uint32_t input, args.input().id());
  const size_t rank = context.graph().rank(input);
  if (rank < 2) return reject("rank", "input of rank ", rank);
  ETB_TRY(check_only_first_result_is_read(context, "statistics"));
  const int64_t channels = context.graph().sizes(input)[1];
  ETB_ASSIGN(const Affine affine, read_batch_norm(context, args, channels));
  ETB_ASSIGN(const LoweredValue in, context.lowered(input));
  if (fold_into(context.builder(), context.find_only_producer(input), affine, channels, in.perm[1])) {
    context.define(context.result(), in);
    return {};
  }
  std::vector<int64_t> sizes(rank, 1);
  sizes[in.perm[1]] = channels;
  const XnnDatatype datatype = context.builder().value(in.id).datatype;
  const auto along = [&](const ConstantPtr& constant) {
    return context.builder().add_constant(
        reshaped(converted(constant, context.builder().dtype(in.id)), sizes), datatype);
  };
  const uint32_t scaled = add_binary(context.builder(), XnnOperator::kMultiply, in.id, along(affine.scale),
                                     context.builder().extents(in.id));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, in.perm));
  context.builder().add_node(XnnOperator::kAdd, {scaled, along(affine.shift)}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::_native_batch_norm_legit_no_training_default, lower_batch_norm>(
        {.min_rank = 1,
         .constraint = "Weights and statistics are constants; the second and third result are not read."}),
};

}  // namespace

extern const OpList batch_norm_ops = kRows;

}  // namespace etb::xnnpack
