// SPDX-License-Identifier: Apache-2.0
// SiLU: x * sigmoid(x).
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_silu(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  const uint32_t gate = add_unary(l.draft(), XnnOperator::kSigmoid, input.id);
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kMultiply, {input.id, gate}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.silu.default", .lower = lower_silu},
};

}  // namespace

extern const OpList silu_ops = kRows;

}  // namespace etb::xnnpack
