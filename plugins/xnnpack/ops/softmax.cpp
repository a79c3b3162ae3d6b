// SPDX-License-Identifier: Apache-2.0
// Softmax over one dimension, which XNNPACK expects last.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_softmax(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const bool half_to_float, l.flag("half_to_float", false));
  if (half_to_float || l.spec(self).dtype != l.spec(l.result()).dtype)
    return Lowering::refuse("dtype", "result of another type than the input");
  const size_t rank = l.rank(self);
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", -1, rank));
  ETB_ASSIGN(Form input, l.form(self));
  if (input.perm[dim] != rank - 1) {
    Permutation order = identity(rank);
    for (size_t i = dim + 1; i < rank; ++i) --order[i];
    order[dim] = static_cast<uint32_t>(rank - 1);
    ETB_ASSIGN(const uint32_t moved, l.arranged(self, order));
    input = {moved, order};
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, input.perm));
  l.draft().add_node(XnnOperator::kSoftmax, {input.id}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten._softmax.default", .lower = lower_softmax, .min_rank = 1},
    {.name = "aten.softmax.int", .lower = lower_softmax, .min_rank = 1},
};

}  // namespace

extern const OpList softmax_ops = kRows;

}  // namespace etb::xnnpack
