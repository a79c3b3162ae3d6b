// SPDX-License-Identifier: Apache-2.0
// Rotation along one dimension: two slices, swapped and concatenated.
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_roll(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const std::vector<int64_t> shifts, l.integers("shifts", {}));
  ETB_ASSIGN(const std::vector<int64_t> dims, l.integers("dims", {}));
  const auto rank = static_cast<int64_t>(l.rank(self));
  if (dims.empty() || shifts.size() != dims.size())
    return Lowering::refuse("attribute", "dims: ", dims.size(),
                            ", expected as many as shifts and at least one");
  ETB_ASSIGN(const Form in, l.form(self));
  if (draft.constant(in.id))
    return Lowering::refuse("constant", "a constant, expected a tensor known at run time");
  Form out = in;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -rank || dims[i] >= rank) return Lowering::refuse("attribute", "dims: ", dims[i]);
    const uint32_t place = in.perm[static_cast<size_t>(dims[i] < 0 ? dims[i] + rank : dims[i])];
    const Draft::Extents extents = draft.extents(out.id);
    if ((extents.dynamic_dims >> place & 1) != 0)
      return Lowering::refuse("dynamic", "dim ", dims[i], ": dynamic, expected static");
    const int64_t extent = extents.sizes[place];
    const auto shift = static_cast<uint32_t>((shifts[i] % extent + extent) % extent);
    if (shift == 0) continue;
    const uint32_t kept = extents.sizes[place] - shift;
    const uint32_t end = add_slice(draft, out.id, place, kept, shift),
                   start = add_slice(draft, out.id, place, 0, kept);
    const uint32_t joined = draft.add_like(out.id, extents);
    draft.add_node(XnnOperator::kConcatenate2, {end, start}, {joined}).axis = static_cast<int32_t>(place);
    out.id = joined;
  }
  l.define(l.result(), std::move(out));
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.roll.default",
     .lower = lower_roll,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "dims are given and static."},
};

}  // namespace

extern const OpList roll_ops = kRows;

}  // namespace etb::xnnpack
