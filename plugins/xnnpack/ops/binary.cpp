// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of two tensors, or of a tensor and a number.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// One operand: a tensor, or a number.
struct Side {
  std::optional<uint32_t> value;
  double number = 0;
};

Result<Side> side(const Lowering& l, const char* name) {
  if (const auto value = l.value(name)) return Side{*value};
  ETB_ASSIGN(const double number, l.number(name, 0));
  return Side{std::nullopt, number};
}

// Chooses the dimension order with the fewest transposes: that of an operand as large as the result.
Result<Permutation> choose_order(Lowering& l, std::initializer_list<const Side*> sides) {
  const size_t rank = l.rank(l.result());
  Permutation chosen = identity(rank);
  for (const Side* side : sides) {
    if (!side->value || l.rank(*side->value) != rank) continue;
    ETB_ASSIGN(const Form form, l.form(*side->value));
    if (l.draft().constant(form.id) || is_identity(form.perm)) continue;
    chosen = form.perm;
    if (l.sizes(*side->value) == l.sizes(l.result())) return chosen;
  }
  return chosen;
}

// Returns an operand in the given dimension order. Lower ranks are broadcast: leading dimensions of size 1
// are added.
Result<uint32_t> operand(Lowering& l, const Side& side, const Permutation& order, XnnDatatype datatype) {
  const etb_dtype dtype = datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
  if (datatype == XnnDatatype::kQint8 && !side.value)
    return Lowering::refuse("quant", "a number beside int8");
  if (!side.value) {
    return l.draft().add_constant(make_floats({1}, {static_cast<float>(side.number)}, dtype), datatype);
  }
  uint32_t id = kXnnNoValue;
  if (is_identity(order) && l.rank(*side.value) <= order.size()) {
    ETB_ASSIGN(id, l.natural(*side.value));
    if (l.rank(*side.value) == 0) {  // XNNPACK broadcasts, but not tensors of rank 0
      ETB_ASSIGN(id, l.draft().add_reshape(id, {{1}, 0}));
    }
  } else if (l.rank(*side.value) == order.size()) {
    ETB_ASSIGN(id, l.arranged(*side.value, order));
  } else {
    ETB_ASSIGN(id, l.natural(*side.value));
    const size_t missing = order.size() - l.rank(*side.value);
    Draft::Extents wide = l.draft().extents(id);
    wide.sizes.insert(wide.sizes.begin(), missing, 1);
    wide.dynamic_dims <<= missing;
    ETB_ASSIGN(id, l.draft().add_reshape(id, std::move(wide)));
    Permutation steps(order.size());
    for (size_t i = 0; i < order.size(); ++i) steps[order[i]] = static_cast<uint32_t>(i);
    id = l.draft().add_transpose(id, steps);
  }
  if (const ConstantPtr constant = l.draft().constant(id);
      constant && constant->dtype != dtype && datatype != XnnDatatype::kQint8)
    return l.draft().add_constant(converted(constant, dtype), datatype);
  if (l.draft().value(id).datatype != datatype)
    return Lowering::refuse("dtype", "operands of different types, expected equal ones");
  return id;
}

// Checks XNNPACK's limits on the ratio of scales.
Status check_scales(const Lowering& l, XnnOperator op, uint32_t a, uint32_t b, uint32_t out) {
  if (!l.is_quantised()) return {};
  const float left = l.params_of(a).scale, right = l.params_of(b).scale, made = l.params_of(out).scale;
  const bool fits = op == XnnOperator::kMultiply
                        ? left * right / made >= 0x1p-16f && left * right / made < 0x1p8f
                        : std::min(left, right) / made >= 0x1p-10f && std::max(left, right) / made < 0x1p8f;
  return fits ? Status{} : Status(Lowering::refuse("quant", "scales too far apart"));
}

Status lower_sides(Lowering& l, XnnOperator op, const Side& left, const Side& right) {
  ETB_ASSIGN(const Permutation order, choose_order(l, {&left, &right}));
  ETB_ASSIGN(XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(l.spec(l.result()).dtype)));
  if (l.is_quantised()) datatype = XnnDatatype::kQint8;
  ETB_ASSIGN(const uint32_t a, operand(l, left, order, datatype));
  ETB_ASSIGN(const uint32_t b, operand(l, right, order, datatype));
  if (l.draft().constant(a) && l.draft().constant(b))
    return Lowering::refuse("constant", "both operands are constants, expected one known at run time");
  if (l.rank(l.result()) == 0) {
    const uint32_t one = add_binary(l.draft(), op, a, b, {{1}, 0});
    ETB_ASSIGN(const uint32_t none, l.draft().add_reshape(one, {}));
    l.define(l.result(), {none, {}});
    return {};
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, order));
  ETB_TRY(check_scales(l, op, a, b, out));
  l.draft().add_node(op, {a, b}, {out});
  return {};
}

template <XnnOperator op>
Status lower(Lowering& l) {
  ETB_ASSIGN(const Side left, side(l, "self"));
  ETB_ASSIGN(Side right, side(l, "other"));
  ETB_ASSIGN(const double alpha, l.number("alpha", 1));
  if (alpha != 1) {
    if (right.value) return Lowering::refuse("attribute", "alpha: ", alpha, ", expected 1");
    right.number *= alpha;
  }
  return lower_sides(l, op, left, right);
}

}  // namespace

Status lower_reciprocal(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  return lower_sides(l, XnnOperator::kDivide, Side{std::nullopt, 1}, Side{self});
}

namespace {

constexpr Op kRows[] = {
    {.name = "aten.add.Tensor", .lower = lower<XnnOperator::kAdd>, .quantised = QuantKind::kComputes},
    {.name = "aten.add.Scalar", .lower = lower<XnnOperator::kAdd>, .quantised = QuantKind::kComputes},
    {.name = "aten.sub.Tensor", .lower = lower<XnnOperator::kSubtract>, .quantised = QuantKind::kComputes},
    {.name = "aten.sub.Scalar", .lower = lower<XnnOperator::kSubtract>, .quantised = QuantKind::kComputes},
    {.name = "aten.mul.Tensor", .lower = lower<XnnOperator::kMultiply>, .quantised = QuantKind::kComputes},
    {.name = "aten.mul.Scalar", .lower = lower<XnnOperator::kMultiply>, .quantised = QuantKind::kComputes},
    {.name = "aten.div.Tensor", .lower = lower<XnnOperator::kDivide>},
    {.name = "aten.div.Scalar", .lower = lower<XnnOperator::kDivide>},
    {.name = "aten.maximum.default", .lower = lower<XnnOperator::kMaximum>},
    {.name = "aten.minimum.default", .lower = lower<XnnOperator::kMinimum>},
    {.name = "aten.reciprocal.default", .lower = lower_reciprocal},
};

}  // namespace

extern const OpList binary_ops = kRows;

}  // namespace etb::xnnpack
