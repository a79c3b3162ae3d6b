// SPDX-License-Identifier: Apache-2.0
// SiLU: x * sigmoid(x).
#include "ops/silu.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_silu(LoweringContext& context, ops::silu_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  ETB_ASSIGN(const LoweredValue input, context.lowered(self));
  const uint32_t gate = add_unary(context.builder(), XnnOperator::kSigmoid, input.id);
  ETB_ASSIGN(const uint32_t out, context.add_result(0, input.perm));
  context.builder().add_node(XnnOperator::kMultiply, {input.id, gate}, {out});
  return {};
}

constexpr Op kRows[] = {
    op_row<ops::silu_default, lower_silu>(),
};

}  // namespace

extern const OpList silu_ops = kRows;

}  // namespace etb::xnnpack
