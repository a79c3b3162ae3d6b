// SPDX-License-Identifier: Apache-2.0
// Layer and group normalisation, composed of means over rows, squares and products: XNNPACK has no operator
// for them.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// Returns (x - mean) / sqrt(variance + eps) over dimension 1 of [rows, elements, 1, 1].
uint32_t normalize(Lowering& l, uint32_t rows, double eps) {
  Draft& draft = l.draft();
  const Draft::Extents extents = draft.extents(rows);
  const uint32_t mean = add_mean(draft, rows);
  const uint32_t centered = add_binary(draft, XnnOperator::kSubtract, rows, mean, extents);
  const uint32_t variance = add_mean(draft, add_unary(draft, XnnOperator::kSquare, centered));
  const uint32_t shifted =
      add_binary(draft, XnnOperator::kAdd, variance, l.add_floats({1}, {static_cast<float>(eps)}, rows),
                 draft.extents(variance));
  const uint32_t scale = add_unary(draft, XnnOperator::kReciprocalSquareRoot, shifted);
  return add_binary(draft, XnnOperator::kMultiply, centered, scale, extents);
}

// Multiplies by the weight and adds the bias, both with the given sizes. The last step writes the result.
Status scale_and_shift(Lowering& l, uint32_t id, const std::vector<int64_t>& sizes) {
  Draft& draft = l.draft();
  const etb_dtype dtype = l.dtype_of(id);
  for (const auto& [name, op] :
       {std::pair{"weight", XnnOperator::kMultiply}, std::pair{"bias", XnnOperator::kAdd}}) {
    if (!l.has(name)) continue;
    ETB_ASSIGN(const uint32_t value, l.value(name));
    ETB_ASSIGN(const ConstantPtr constant, l.constant(value, name));
    if (numel_of(constant->sizes) != numel_of(sizes))
      return Lowering::refuse("attribute", name, ": of other sizes");
    const uint32_t factor =
        draft.add_constant(reshaped(converted(constant, dtype), sizes), draft.value(id).datatype);
    id = add_binary(draft, op, id, factor, draft.extents(id));
  }
  l.define(l.result(), {id, identity(l.rank(l.result()))});
  return {};
}

Status lower_layer_norm(Lowering& l) {
  ETB_TRY(check_only_first_result_is_read(l, "statistics"));
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const std::vector<int64_t> shape, l.integers("normalized_shape", {}));
  ETB_ASSIGN(const double eps, l.number("eps", 1e-5));
  const Draft::Extents extents = l.extents(input);
  const size_t rank = extents.sizes.size();
  if (shape.empty() || shape.size() > rank) return Lowering::refuse("attribute", "normalized_shape");
  const size_t leading = rank - shape.size();
  if (extents.dynamic_dims >> leading != 0)
    return Lowering::refuse("dynamic", "normalised dimensions, expected static ones");
  uint64_t rows = 1;
  for (size_t d = 0; d < leading; ++d) rows *= extents.sizes[d];
  const auto elements = static_cast<uint32_t>(numel_of(shape));
  ETB_ASSIGN(const uint32_t in, l.natural(input));
  ETB_ASSIGN(const uint32_t flat, draft.add_reshape(in, {{static_cast<uint32_t>(rows), elements, 1, 1},
                                                         extents.dynamic_dims != 0 ? 1u : 0u}));
  ETB_ASSIGN(const uint32_t out, draft.add_reshape(normalize(l, flat, eps), extents));
  return scale_and_shift(l, out, shape);
}

Status lower_group_norm(Lowering& l) {
  ETB_TRY(check_only_first_result_is_read(l, "statistics"));
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t input, l.value("input"));
  ETB_ASSIGN(const int64_t groups, l.integer("group", 1));
  ETB_ASSIGN(const double eps, l.number("eps", 1e-5));
  const Draft::Extents extents = l.extents(input);
  if (extents.dynamic_dims != 0) return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> sizes = l.sizes(input);
  if (sizes.size() < 2 || groups < 1 || sizes[1] % groups != 0)
    return Lowering::refuse("attribute", "group: ", groups);
  const int64_t rows = sizes[0] * groups;
  ETB_ASSIGN(const uint32_t in, l.natural(input));
  ETB_ASSIGN(
      const uint32_t flat,
      draft.add_reshape(
          in, {{static_cast<uint32_t>(rows), static_cast<uint32_t>(numel_of(sizes) / rows), 1, 1}, 0}));
  ETB_ASSIGN(const uint32_t out, draft.add_reshape(normalize(l, flat, eps), extents));
  std::vector<int64_t> channels(sizes.size() - 1, 1);
  channels[0] = sizes[1];
  return scale_and_shift(l, out, channels);
}

constexpr Op kRows[] = {
    {.name = "aten.native_layer_norm.default",
     .lower = lower_layer_norm,
     .min_rank = 1,
     .constraint = "Weights are constants; nobody reads the second and third result."},
    {.name = "aten.native_group_norm.default",
     .lower = lower_group_norm,
     .min_rank = 1,
     .max_rank = 5,
     .constraint = "Weights are constants; nobody reads the second and third result."},
};

}  // namespace

extern const OpList normalization_ops = kRows;

}  // namespace etb::xnnpack
