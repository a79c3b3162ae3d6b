// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, folded into the layer before it.
#include <cmath>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// y = x * scale + shift along the channels.
struct Affine {
  ConstantPtr scale, shift;
};

Result<Affine> read_batch_norm(Lowering& l, int64_t channels) {
  ETB_ASSIGN(const double eps, l.number("eps", 1e-5));
  std::vector<ConstantPtr> parts;  // mean, variance, weight, bias
  for (const char* name : {"running_mean", "running_var"}) {
    ETB_ASSIGN(const uint32_t value, l.value(name));
    ETB_ASSIGN(ConstantPtr found, l.constant(value, name));
    parts.push_back(std::move(found));
  }
  const std::vector<int64_t> sizes = {channels};
  const auto optional = [&](const char* name, float otherwise) -> Result<ConstantPtr> {
    if (!l.has(name)) return make_floats(sizes, std::vector<float>(static_cast<size_t>(channels), otherwise));
    ETB_ASSIGN(const uint32_t value, l.value(name));
    return l.constant(value, name);
  };
  ETB_ASSIGN(ConstantPtr weight, optional("weight", 1));
  ETB_ASSIGN(ConstantPtr bias, optional("bias", 0));
  parts.push_back(std::move(weight));
  parts.push_back(std::move(bias));
  for (const ConstantPtr& part : parts) {
    if (numel_of(part->sizes) != channels)
      return Lowering::refuse("attribute", numel_of(part->sizes), " parameters, expected ", channels);
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

// Folds into the weights of the input's producer. Returns false if it cannot.
bool fold_into(Lowering& l, XnnNode* node, const Affine& affine, int64_t channels) {
  if (node == nullptr || node->is_clamped) return false;
  const bool is_depthwise = node->op == XnnOperator::kDepthwiseConv2d;
  const bool is_linear = node->op == XnnOperator::kFullyConnected;
  if (!is_depthwise && !is_linear && node->op != XnnOperator::kConv2d &&
      node->op != XnnOperator::kConvTranspose2d)
    return false;
  Draft& draft = l.draft();
  const ConstantPtr filter = draft.constant(node->inputs[1]);
  const XnnDatatype datatype = draft.value(node->inputs[1]).datatype;
  if (!filter || (datatype != XnnDatatype::kFloat32 && datatype != XnnDatatype::kFloat16)) return false;
  const bool is_last = is_depthwise || (is_linear && (node->flags & 1) != 0);  // position of the outputs
  if ((is_last ? filter->sizes.back() : filter->sizes.front()) != channels) return false;
  const auto outputs = static_cast<size_t>(channels);
  const ConstantPtr scaled = computed({filter, affine.scale}, filter->sizes, filter->dtype,
                                      [is_last, outputs](std::vector<std::vector<float>> p) {
                                        const std::vector<float>& factors = p[1];
                                        const size_t row = is_last ? outputs : p[0].size() / outputs;
                                        for (size_t first = 0, n = 0; first < p[0].size(); first += row, ++n)
                                          for (size_t i = 0; i < row; ++i)
                                            p[0][first + i] *= factors[is_last ? i : n];
                                        return std::move(p[0]);
                                      });
  ConstantPtr shifted = affine.shift;
  if (node->inputs[2] != kXnnNoValue) {
    shifted = computed({draft.constant(node->inputs[2]), affine.scale, affine.shift}, {channels},
                       filter->dtype, [](const auto& p) {
                         std::vector<float> out(p[0].size());
                         for (size_t i = 0; i < out.size(); ++i) out[i] = p[0][i] * p[1][i] + p[2][i];
                         return out;
                       });
  }
  const uint32_t scaled_id = draft.add_constant(scaled, datatype);
  const uint32_t shifted_id = draft.add_constant(converted(shifted, filter->dtype), datatype);
  node->inputs[1] = scaled_id;
  node->inputs[2] = shifted_id;
  return true;
}

Status lower_batch_norm(Lowering& l) {
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  const size_t rank = l.rank(input);
  if (rank < 2) return Lowering::refuse("rank", "input of rank ", rank);
  ETB_TRY(check_only_first_result_is_read(l, "statistics"));
  const int64_t channels = l.sizes(input)[1];
  ETB_ASSIGN(const Affine affine, read_batch_norm(l, channels));
  ETB_ASSIGN(const Form in, l.form(input));
  if (fold_into(l, l.only_producer(input), affine, channels)) {
    l.define(l.result(), in);
    return {};
  }
  std::vector<int64_t> sizes(rank, 1);
  sizes[in.perm[1]] = channels;
  const XnnDatatype datatype = l.draft().value(in.id).datatype;
  const auto along = [&](const ConstantPtr& constant) {
    return l.draft().add_constant(reshaped(converted(constant, l.dtype_of(in.id)), sizes), datatype);
  };
  const uint32_t scaled =
      add_binary(l.draft(), XnnOperator::kMultiply, in.id, along(affine.scale), l.draft().extents(in.id));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, in.perm));
  l.draft().add_node(XnnOperator::kAdd, {scaled, along(affine.shift)}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten._native_batch_norm_legit_no_training.default",
     .lower = lower_batch_norm,
     .min_rank = 1,
     .constraint = "Weights and statistics are constants; nobody reads the second and third result."},
};

}  // namespace

extern const OpList batch_norm_ops = kRows;

}  // namespace etb::xnnpack
