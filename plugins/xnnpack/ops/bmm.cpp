// SPDX-License-Identifier: Apache-2.0
// Batched matrix products.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_bmm(Lowering& l) {
  ETB_ASSIGN(const uint32_t left, l.value("self"));
  ETB_ASSIGN(const uint32_t right, l.value("mat2"));
  ETB_ASSIGN(const uint32_t a, l.natural(left));
  ETB_ASSIGN(const Matrix b, right_factor(l, right));
  if (l.draft().constant(a))
    return Lowering::refuse("constant", "self: a constant, expected a tensor known at run time");
  ETB_ASSIGN(const uint32_t out, l.add_result());
  l.draft().add_node(XnnOperator::kBatchMatrixMultiply, {a, b.id}, {out}).flags =
      b.is_transposed ? kFlagTransposeB : 0;
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.bmm.default", .lower = lower_bmm, .min_rank = 3, .max_rank = 3},
};

}  // namespace

extern const OpList bmm_ops = kRows;

}  // namespace etb::xnnpack
