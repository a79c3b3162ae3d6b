// SPDX-License-Identifier: Apache-2.0
// Powers with a few constant exponents.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_pow(Lowering& l) {
  ETB_ASSIGN(const double exponent, l.number("exponent", 0));
  if (exponent == 2) return lower_unary(l, XnnOperator::kSquare);
  if (exponent == 0.5) return lower_unary(l, XnnOperator::kSquareRoot);
  if (exponent == -0.5) return lower_unary(l, XnnOperator::kReciprocalSquareRoot);
  if (exponent == -1) return lower_reciprocal(l);
  if (exponent != 3 && exponent != 4)
    return Lowering::refuse("attribute", "exponent: ", exponent, ", expected 2, 3, 4, 0.5, -0.5 or -1");
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  const uint32_t squared = add_unary(l.draft(), XnnOperator::kSquare, input.id);
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  if (exponent == 4) {
    l.draft().add_node(XnnOperator::kSquare, {squared}, {out});
  } else {
    l.draft().add_node(XnnOperator::kMultiply, {squared, input.id}, {out});
  }
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.pow.Tensor_Scalar",
     .lower = lower_pow,
     .constraint = "The exponent is 2, 3, 4, 0.5, -0.5 or -1."},
};

}  // namespace

extern const OpList pow_ops = kRows;

}  // namespace etb::xnnpack
