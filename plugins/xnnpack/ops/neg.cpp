// SPDX-License-Identifier: Apache-2.0
// Negation, as a product with -1.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// XNNPACK's own negation maps 0 to 0 instead of -0.
Status lower_neg(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const Form input, l.form(self));
  const uint32_t factor = l.add_floats({1}, {-1}, input.id);
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kMultiply, {input.id, factor}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.neg.default", .lower = lower_neg, .min_rank = 1},
};

}  // namespace

extern const OpList neg_ops = kRows;

}  // namespace etb::xnnpack
