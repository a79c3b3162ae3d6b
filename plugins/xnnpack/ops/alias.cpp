// SPDX-License-Identifier: Apache-2.0
// Copies. They lower to no node.
#include "ops/alias_copy.hpp"
#include "ops/clone.hpp"
#include "ops/detach_copy.hpp"
#include "ops/dim_order_ops/_clone_dim_order.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

Status define_alias(LoweringContext& context, uint32_t input) {
  ETB_ASSIGN(LoweredValue in, context.lowered(input));
  context.define(context.result(), std::move(in));
  return {};
}

namespace {

Status lower_alias(LoweringContext& context, SelfArgument args) {
  ETB_ASSIGN(const uint32_t self, args.self.id());
  return define_alias(context, self);
}

constexpr Op kRows[] = {
    op_row<ops::clone_default, lower_alias>({.quantised = QuantKind::kMoves}),
    op_row<ops::alias_copy_default, lower_alias>({.quantised = QuantKind::kMoves}),
    op_row<ops::detach_copy_default, lower_alias>({.quantised = QuantKind::kMoves}),
    op_row<ops::dim_order_ops::_clone_dim_order_default, lower_alias>(
        {.quantised = QuantKind::kMoves, .traits = kFolds}),
};

}  // namespace

extern const OpList alias_ops = kRows;

}  // namespace etb::xnnpack
