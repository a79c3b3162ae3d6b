// SPDX-License-Identifier: Apache-2.0
// Slices along one dimension.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Result<Form> slice_of(Lowering& l, uint32_t value, uint32_t dim, int64_t from, int64_t count) {
  ETB_ASSIGN(const Form in, l.form(value));
  const uint32_t place = in.perm[dim];
  const Draft::Extents extents = l.draft().extents(in.id);
  if ((extents.dynamic_dims >> place & 1) != 0)
    return Lowering::refuse("dynamic", "dim ", dim, ": dynamic, expected static");
  if (from == 0 && count == static_cast<int64_t>(extents.sizes[place])) return in;
  if (l.draft().constant(in.id))
    return Lowering::refuse("constant", "a constant, expected a tensor known at run time");
  if (from < 0 || count <= 0 || from + count > static_cast<int64_t>(extents.sizes[place]))
    return Lowering::refuse("attribute", "nothing of dim ", dim);
  const uint32_t out =
      add_slice(l.draft(), in.id, place, static_cast<uint32_t>(from), static_cast<uint32_t>(count));
  return Form{out, in.perm};
}

// Returns every `step`-th of count * step elements: element `at` of each row, seen as rows of `step`.
Result<Form> every_step(Lowering& l, const Form& block, uint32_t dim, uint32_t count, uint32_t step,
                        uint32_t at) {
  Draft& draft = l.draft();
  const uint32_t place = block.perm[dim];
  const Draft::Extents whole = draft.extents(block.id);
  if (whole.sizes.size() == kMaxRank)
    return Lowering::refuse("rank", "step of a tensor of rank ", kMaxRank, ", expected at most ",
                            kMaxRank - 1);
  Draft::Extents rows = whole, picked = whole;
  rows.sizes[place] = picked.sizes[place] = count;
  rows.sizes.insert(rows.sizes.begin() + place + 1, step);
  const uint32_t below = (1u << (place + 1)) - 1;
  rows.dynamic_dims = (whole.dynamic_dims & below) | (whole.dynamic_dims & ~below) << 1;
  ETB_ASSIGN(const uint32_t seen, draft.add_reshape(block.id, std::move(rows)));
  ETB_ASSIGN(const uint32_t out,
             draft.add_reshape(add_slice(draft, seen, place + 1, at, 1), std::move(picked)));
  return Form{out, block.perm};
}

Status lower_slice(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", 0, l.rank(self)));
  if (l.rank(l.result()) != l.rank(self)) return Lowering::refuse("rank", "result of another rank");
  ETB_ASSIGN(const int64_t step, l.integer("step", 1));
  ETB_ASSIGN(int64_t start, l.integer("start", 0));
  if (step < 1) return Lowering::refuse("attribute", "step: ", step);
  const int64_t extent = l.sizes(self)[dim];
  if (start < 0) start += extent;
  start = std::clamp<int64_t>(start, 0, extent);
  if ((l.extents(self).dynamic_dims >> dim & 1) != 0)
    return Lowering::refuse("dynamic", "dim ", dim, ": dynamic, expected static");
  const int64_t count = l.sizes(l.result())[dim];
  // The rows of `step` may begin before the first selected element if the last row ends with the dimension.
  const int64_t first = step > extent || count > extent / step ? -1 : std::min(start, extent - count * step);
  if (first < 0 || start - first >= step)
    return Lowering::refuse("attribute", "step: ", step, " from ", start,
                            " on leaves a last part of less than a step");
  ETB_ASSIGN(Form out, slice_of(l, self, dim, first, count * step));
  if (step > 1) {
    ETB_ASSIGN(out, every_step(l, out, dim, static_cast<uint32_t>(count), static_cast<uint32_t>(step),
                               static_cast<uint32_t>(start - first)));
  }
  l.define(l.result(), std::move(out));
  return {};
}

// Selects index `at` of a dimension and removes the dimension.
Result<Form> pick(Lowering& l, uint32_t self, uint32_t dim, int64_t at) {
  ETB_ASSIGN(const Form kept, slice_of(l, self, dim, at, 1));
  const uint32_t place = kept.perm[dim];
  Draft::Extents extents = l.draft().extents(kept.id);
  extents.sizes.erase(extents.sizes.begin() + place);
  const uint32_t below = extents.dynamic_dims & ((1u << place) - 1);
  extents.dynamic_dims = below | (extents.dynamic_dims >> (place + 1) << place);
  Form out;
  for (uint32_t d = 0; d < kept.perm.size(); ++d) {
    if (d != dim) out.perm.push_back(kept.perm[d] - (kept.perm[d] > place ? 1 : 0));
  }
  ETB_ASSIGN(out.id, l.draft().add_reshape(kept.id, std::move(extents)));
  return out;
}

Status lower_select(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", 0, l.rank(self)));
  ETB_ASSIGN(int64_t index, l.integer("index", 0));
  if ((l.extents(self).dynamic_dims >> dim & 1) != 0)
    return Lowering::refuse("dynamic", "dim ", dim, ": dynamic, expected static");
  if (index < 0) index += l.sizes(self)[dim];
  ETB_ASSIGN(Form out, pick(l, self, dim, index));
  l.define(l.result(), std::move(out));
  return {};
}

Status lower_unbind(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", 0, l.rank(self)));
  for (uint32_t i = 0; i < l.result_count(); ++i) {
    ETB_ASSIGN(Form out, pick(l, self, dim, i));
    l.define(l.result(i), std::move(out));
  }
  return {};
}

Status lower_split(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", 0, l.rank(self)));
  if (l.rank(l.result()) != l.rank(self)) return Lowering::refuse("rank", "result of another rank");
  int64_t start = 0;
  for (uint32_t i = 0; i < l.result_count(); ++i) {
    const int64_t count = l.sizes(l.result(i))[dim];
    ETB_ASSIGN(Form out, slice_of(l, self, dim, start, count));
    l.define(l.result(i), std::move(out));
    start += count;
  }
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.slice_copy.Tensor",
     .lower = lower_slice,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "The dimension is static; there is a whole step for each element."},
    {.name = "aten.select_copy.int",
     .lower = lower_select,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "The dimension is static."},
    {.name = "aten.split_with_sizes_copy.default",
     .lower = lower_split,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "The dimension is static."},
    {.name = "aten.unbind_copy.int",
     .lower = lower_unbind,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "The dimension is static."},
};

}  // namespace

extern const OpList slice_ops = kRows;

}  // namespace etb::xnnpack
