// SPDX-License-Identifier: Apache-2.0
// Batched matrix products.
#include "ops/bmm.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_bmm(LoweringContext& context, ops::bmm_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t left, args.self().id());
  ETB_ASSIGN(const uint32_t right, args.mat2().id());
  ETB_ASSIGN(const uint32_t a, context.natural(left));
  ETB_ASSIGN(const Matrix b, right_factor(context, right));
  if (context.builder().constant(a))
    return reject("constant", "self: a constant, expected a tensor known at run time");
  ETB_ASSIGN(const uint32_t out, context.add_result());
  context.builder().add_node(XnnOperator::kBatchMatrixMultiply, {a, b.id}, {out}).flags =
      b.is_transposed ? kFlagTransposeB : 0;
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::bmm_default, lower_bmm>({.min_rank = 3, .max_rank = 3}),
};

}  // namespace

extern const OpList bmm_ops = kRows;

}  // namespace etb::xnnpack
