// SPDX-License-Identifier: Apache-2.0
// Elementwise ops of two tensors, or of a tensor and a number.
#include <algorithm>

#include "ops/add.hpp"
#include "ops/div.hpp"
#include "ops/maximum.hpp"
#include "ops/minimum.hpp"
#include "ops/mul.hpp"
#include "ops/reciprocal.hpp"
#include "ops/sub.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// One operand: a tensor, or a number.
struct Side {
  std::optional<uint32_t> value;
  double number = 0;
};

Result<Side> side(const NodeArguments::Argument& argument) {
  if (const auto value = NodeArguments::Tensor(argument).id()) return Side{*value};
  ETB_ASSIGN(const double number, NodeArguments::Number(argument).number_or(0));
  return Side{std::nullopt, number};
}

// Ops of two operands. Some multiply the second one by a number.
struct BinaryArguments {
  template <class View>
  explicit BinaryArguments(const View& args) : self(args.self()), other(args.other()) {
    if constexpr (requires { args.alpha(); }) alpha = args.alpha();
  }

  NodeArguments::Argument self, other;
  std::optional<NodeArguments::Number> alpha = {};
};

// Chooses the dimension order with the fewest transposes: that of an operand as large as the result.
Result<Permutation> choose_order(LoweringContext& context, std::initializer_list<const Side*> sides) {
  const size_t rank = context.graph().rank(context.result());
  Permutation chosen = identity(rank);
  for (const Side* side : sides) {
    if (!side->value || context.graph().rank(*side->value) != rank) continue;
    ETB_ASSIGN(const LoweredValue form, context.lowered(*side->value));
    if (context.builder().constant(form.id) || is_identity(form.perm)) continue;
    chosen = form.perm;
    if (context.graph().sizes(*side->value) == context.graph().sizes(context.result())) return chosen;
  }
  return chosen;
}

// Returns an operand in the given dimension order. Lower ranks are broadcast: leading dimensions of size 1
// are added.
Result<uint32_t> operand(LoweringContext& context, const Side& side, const Permutation& order,
                         XnnDatatype datatype) {
  const etb_dtype dtype = datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
  if (datatype == XnnDatatype::kQint8 && !side.value) return reject("quant", "a number beside int8");
  if (!side.value) {
    return context.builder().add_constant(make_floats({1}, {static_cast<float>(side.number)}, dtype),
                                          datatype);
  }
  uint32_t id = kXnnNoValue;
  if (is_identity(order) && context.graph().rank(*side.value) <= order.size()) {
    ETB_ASSIGN(id, context.natural(*side.value));
    if (context.graph().rank(*side.value) == 0) {  // XNNPACK broadcasts, but not tensors of rank 0
      ETB_ASSIGN(id, context.builder().add_reshape(id, {{1}, 0}));
    }
  } else if (context.graph().rank(*side.value) == order.size()) {
    ETB_ASSIGN(id, context.arranged(*side.value, order));
  } else {
    ETB_ASSIGN(id, context.natural(*side.value));
    const size_t missing = order.size() - context.graph().rank(*side.value);
    Extents wide = context.builder().extents(id);
    wide.sizes.insert(wide.sizes.begin(), missing, 1);
    wide.dynamic_dims <<= missing;
    ETB_ASSIGN(id, context.builder().add_reshape(id, std::move(wide)));
    Permutation steps(order.size());
    for (size_t i = 0; i < order.size(); ++i) steps[order[i]] = static_cast<uint32_t>(i);
    id = context.builder().add_transpose(id, steps);
  }
  if (const ConstantPtr constant = context.builder().constant(id);
      constant && constant->dtype != dtype && datatype != XnnDatatype::kQint8)
    return context.builder().add_constant(converted(constant, dtype), datatype);
  if (context.builder().value(id).datatype != datatype)
    return reject("dtype", "operands of different types, expected equal ones");
  return id;
}

// Checks XNNPACK's limits on the ratio of scales.
Status check_scales(LoweringContext& context, XnnOperator op, uint32_t a, uint32_t b, uint32_t out) {
  if (!context.is_quantised()) return {};
  const float left = params_of(context.builder().value(a)).scale,
              right = params_of(context.builder().value(b)).scale,
              made = params_of(context.builder().value(out)).scale;
  const bool fits = op == XnnOperator::kMultiply
                        ? left * right / made >= 0x1p-16f && left * right / made < 0x1p8f
                        : std::min(left, right) / made >= 0x1p-10f && std::max(left, right) / made < 0x1p8f;
  return fits ? Status{} : Status(reject("quant", "scales too far apart"));
}

Status lower_sides(LoweringContext& context, XnnOperator op, const Side& left, const Side& right) {
  ETB_ASSIGN(const Permutation order, choose_order(context, {&left, &right}));
  ETB_ASSIGN(const XnnDatatype datatype, context.result_datatype());
  ETB_ASSIGN(const uint32_t a, operand(context, left, order, datatype));
  ETB_ASSIGN(const uint32_t b, operand(context, right, order, datatype));
  if (context.builder().constant(a) && context.builder().constant(b))
    return reject("constant", "both operands are constants, expected one known at run time");
  if (context.graph().rank(context.result()) == 0) {
    const uint32_t one = add_binary(context.builder(), op, a, b, {{1}, 0});
    context.adopt_result_params(one);
    ETB_TRY(check_scales(context, op, a, b, one));
    ETB_ASSIGN(const uint32_t none, context.builder().add_reshape(one, {}));
    context.define(context.result(), {none, {}});
    return {};
  }
  ETB_ASSIGN(const uint32_t out, context.add_result(0, order));
  ETB_TRY(check_scales(context, op, a, b, out));
  context.builder().add_node(op, {a, b}, {out});
  return {};
}

Status lower_binary(LoweringContext& context, XnnOperator op, const BinaryArguments& args) {
  ETB_ASSIGN(const Side left, side(args.self));
  ETB_ASSIGN(Side right, side(args.other));
  double alpha = 1;
  if (args.alpha) {
    ETB_ASSIGN(alpha, args.alpha->number_or(1));
  }
  if (alpha != 1) {
    if (right.value) return reject("attribute", "alpha: ", alpha, ", expected 1");
    right.number *= alpha;
  }
  return lower_sides(context, op, left, right);
}

template <XnnOperator op>
Status lower(LoweringContext& context, BinaryArguments args) {
  return lower_binary(context, op, args);
}

}  // namespace

Status lower_reciprocal(LoweringContext& context, SelfArgument args) {
  ETB_ASSIGN(const uint32_t self, args.self.id());
  return lower_sides(context, XnnOperator::kDivide, Side{std::nullopt, 1}, Side{self});
}

namespace {

constexpr Op kRows[] = {
    op_row<ops::add_Tensor, lower<XnnOperator::kAdd>>(
        {.quantised = QuantKind::kComputes, .constraint = "alpha is 1 for two tensors."}),
    op_row<ops::add_Scalar, lower<XnnOperator::kAdd>>({.quantised = QuantKind::kComputes}),
    op_row<ops::sub_Tensor, lower<XnnOperator::kSubtract>>(
        {.quantised = QuantKind::kComputes, .constraint = "alpha is 1 for two tensors."}),
    op_row<ops::sub_Scalar, lower<XnnOperator::kSubtract>>({.quantised = QuantKind::kComputes}),
    op_row<ops::mul_Tensor, lower<XnnOperator::kMultiply>>({.quantised = QuantKind::kComputes}),
    op_row<ops::mul_Scalar, lower<XnnOperator::kMultiply>>({.quantised = QuantKind::kComputes}),
    op_row<ops::div_Tensor, lower<XnnOperator::kDivide>>(),
    op_row<ops::div_Scalar, lower<XnnOperator::kDivide>>(),
    op_row<ops::maximum_default, lower<XnnOperator::kMaximum>>(),
    op_row<ops::minimum_default, lower<XnnOperator::kMinimum>>(),
    op_row<ops::reciprocal_default, lower_reciprocal>(),
};

}  // namespace

extern const OpList binary_ops = kRows;

}  // namespace etb::xnnpack
