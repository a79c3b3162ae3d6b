// SPDX-License-Identifier: Apache-2.0
// Ops of one tensor with an XNNPACK operator, on dimensions in any order.
#include "ops/abs.hpp"
#include "ops/ceil.hpp"
#include "ops/cos.hpp"
#include "ops/exp.hpp"
#include "ops/floor.hpp"
#include "ops/hardswish.hpp"
#include "ops/log.hpp"
#include "ops/rsqrt.hpp"
#include "ops/sigmoid.hpp"
#include "ops/sin.hpp"
#include "ops/sqrt.hpp"
#include "ops/square.hpp"
#include "ops/tanh.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

Status lower_unary(LoweringContext& context, XnnOperator op, const NodeArguments::Tensor& argument) {
  XnnGraphBuilder& builder = context.builder();
  ETB_ASSIGN(const uint32_t value, argument.id());
  ETB_ASSIGN(LoweredValue input, context.lowered(value));
  // In float16, XNNPACK's square root maps -0 to NaN, its tanh and sigmoid are wrong by several units in the last place.
  const bool is_widened =
      (op == XnnOperator::kSquareRoot || op == XnnOperator::kTanh || op == XnnOperator::kSigmoid) &&
      builder.value(input.id).datatype == XnnDatatype::kFloat16;
  if (is_widened) input.id = add_unary(builder, op, add_widened(builder, input.id));
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  builder.add_node(is_widened ? XnnOperator::kConvert : op, {input.id}, {out});
  return {};
}

namespace {

template <XnnOperator op>
Status lower(LoweringContext& context, SelfArgument args) {
  return lower_unary(context, op, args.self);
}

constexpr Op kRows[] = {
    op_row<ops::abs_default, lower<XnnOperator::kAbs>>(),
    op_row<ops::ceil_default, lower<XnnOperator::kCeiling>>(),
    op_row<ops::cos_default, lower<XnnOperator::kCos>>(),
    op_row<ops::exp_default, lower<XnnOperator::kExp>>(),
    op_row<ops::floor_default, lower<XnnOperator::kFloor>>(),
    op_row<ops::log_default, lower<XnnOperator::kLog>>(),
    op_row<ops::rsqrt_default, lower<XnnOperator::kReciprocalSquareRoot>>(),
    op_row<ops::sigmoid_default, lower<XnnOperator::kSigmoid>>({.quantised = QuantKind::kComputes}),
    op_row<ops::sin_default, lower<XnnOperator::kSin>>(),
    op_row<ops::sqrt_default, lower<XnnOperator::kSquareRoot>>(),
    op_row<ops::square_default, lower<XnnOperator::kSquare>>(),
    op_row<ops::tanh_default, lower<XnnOperator::kTanh>>({.quantised = QuantKind::kComputes}),
    op_row<ops::hardswish_default, lower<XnnOperator::kHardSwish>>({.traits = kPreserved}),
};

}  // namespace

extern const OpList unary_ops = kRows;

}  // namespace etb::xnnpack
