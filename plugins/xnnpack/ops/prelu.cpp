// SPDX-License-Identifier: Apache-2.0
// PReLU with constant slopes.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_prelu(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t weight, l.value("weight"));
  ETB_ASSIGN(const ConstantPtr slopes, l.constant(weight, "weight"));
  // Slopes apply along dimension 1, which XNNPACK expects last.
  const size_t rank = l.rank(self);
  if (rank < 2) return Lowering::refuse("rank", "input of rank ", rank, ", expected 2 or more");
  Permutation order = identity(rank);
  for (size_t i = 2; i < rank; ++i) --order[i];
  order[1] = static_cast<uint32_t>(rank - 1);
  ETB_ASSIGN(const uint32_t input, l.arranged(self, order));
  ETB_ASSIGN(const uint32_t out, l.add_result(0, order));
  const int64_t channels = l.sizes(self)[1];
  if (numel_of(slopes->sizes) != channels && numel_of(slopes->sizes) != 1)
    return Lowering::refuse("attribute", "weight, expected one element, or one a channel");
  const ConstantPtr wide = numel_of(slopes->sizes) == channels ? slopes : expanded(slopes, {channels});
  l.draft().add_node(XnnOperator::kPrelu,
                     {input, l.draft().add_constant(wide, l.draft().value(input).datatype)}, {out});
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.prelu.default",
     .lower = lower_prelu,
     .min_rank = 1,
     .constraint = "The weight is a constant.",
     .traits = kPreserved},
};

}  // namespace

extern const OpList prelu_ops = kRows;

}  // namespace etb::xnnpack
