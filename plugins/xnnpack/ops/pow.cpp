// SPDX-License-Identifier: Apache-2.0
// Powers with a few constant exponents.
#include "ops/pow.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_pow(LoweringContext& context, ops::pow_Tensor_Scalar<NodeArguments> args) {
  ETB_ASSIGN(const double exponent, args.exponent().number_or(0));
  if (exponent == 2) return lower_unary(context, XnnOperator::kSquare, args.self());
  if (exponent == -1) return lower_reciprocal(context, SelfArgument(args));
  // Not 0.5 and -0.5: XNNPACK's roots are NaN for infinity, and wrong from 2^126 on.
  if (exponent != 3 && exponent != 4)
    return reject("attribute", "exponent: ", exponent, ", expected 2, 3, 4 or -1");
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  const uint32_t squared = add_unary(context.builder(), XnnOperator::kSquare, input.id);
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  if (exponent == 4) {
    context.builder().add_node(XnnOperator::kSquare, {squared}, {out});
  } else {
    context.builder().add_node(XnnOperator::kMultiply, {squared, input.id}, {out});
  }
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::pow_Tensor_Scalar, lower_pow>({.constraint = "The exponent is 2, 3, 4 or -1."}),
};

}  // namespace

extern const OpList pow_ops = kRows;

}  // namespace etb::xnnpack
