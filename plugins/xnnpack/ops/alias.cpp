// SPDX-License-Identifier: Apache-2.0
// Copies. They lower to no node.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

Status lower_alias(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(Form in, l.form(self));
  l.define(l.result(), std::move(in));
  return {};
}

namespace {

constexpr Op kRows[] = {
    {.name = "aten.clone.default", .lower = lower_alias, .quantised = QuantKind::kMoves},
    {.name = "aten.alias_copy.default", .lower = lower_alias, .quantised = QuantKind::kMoves},
    {.name = "aten.detach_copy.default", .lower = lower_alias, .quantised = QuantKind::kMoves},
    {.name = "dim_order_ops._clone_dim_order.default",
     .lower = lower_alias,
     .quantised = QuantKind::kMoves,
     .traits = kFolds},
};

}  // namespace

extern const OpList alias_ops = kRows;

}  // namespace etb::xnnpack
