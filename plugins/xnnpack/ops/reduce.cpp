// SPDX-License-Identifier: Apache-2.0
// Means, sums and maxima over dimensions.
#include <algorithm>
#include <bit>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

// The payload dimensions [first, first + count) of a set of dimensions, if these are contiguous.
struct Block {
  uint32_t first = 0, count = 0;
};
std::optional<Block> block_of(const std::vector<uint32_t>& dims, const Permutation& perm) {
  std::vector<uint32_t> places;
  for (const uint32_t dim : dims) places.push_back(perm[dim]);
  std::sort(places.begin(), places.end());
  if (places.empty() || places.back() - places.front() + 1 != places.size()) return std::nullopt;
  return Block{places.front(), static_cast<uint32_t>(places.size())};
}

Result<std::vector<uint32_t>> reduced_dims(Lowering& l, size_t rank) {
  ETB_ASSIGN(const std::vector<int64_t> found, l.integers("dim", {}));
  std::vector<uint32_t> dims;
  for (int64_t dim : found) {
    if (dim < 0) dim += static_cast<int64_t>(rank);
    if (dim < 0 || static_cast<size_t>(dim) >= rank) return Lowering::refuse("attribute", "dim");
    dims.push_back(static_cast<uint32_t>(dim));
  }
  if (dims.empty()) dims = identity(rank);
  std::sort(dims.begin(), dims.end());
  return dims;
}

enum class Reduction { kMean, kSum, kMaximum };

// Adds the maximum over dimensions 1 and 2 of a value of rank 4: one window.
Result<uint32_t> add_maximum(Draft& draft, uint32_t input) {
  Draft::Extents extents = draft.extents(input);
  if ((extents.dynamic_dims & 6) != 0) return Lowering::refuse("dynamic", "dim: a dynamic dimension");
  const uint32_t height = extents.sizes[1], width = extents.sizes[2];
  if (height == 1 && width == 1) return input;  // XNNPACK rejects such a window
  extents.sizes[1] = extents.sizes[2] = 1;
  const uint32_t out = draft.add_like(input, std::move(extents));
  XnnWindow& w = draft.add_node(XnnOperator::kMaxPooling2d, {input}, {out}).window;
  w.kernel_height = w.stride_height = height;
  w.kernel_width = w.stride_width = width;
  w.dilation_height = w.dilation_width = 1;
  return out;
}

// Adds the mean or maximum over `dims`. The payload's value keeps them as 1.
Result<Form> reduced(Lowering& l, uint32_t self, const std::vector<uint32_t>& dims, Reduction reduction) {
  Draft& draft = l.draft();
  ETB_ASSIGN(Form in, l.form(self));
  if (draft.constant(in.id))
    return Lowering::refuse("constant", "a constant, expected a tensor known at run time");
  auto block = block_of(dims, in.perm);
  if (!block) {
    ETB_ASSIGN(const uint32_t id, l.natural(self));
    in = {id, identity(in.perm.size())};
    block = block_of(dims, in.perm);
  }
  if (!block) return Lowering::refuse("attribute", "dim: dimensions apart, expected neighbours");
  const Draft::Extents whole = draft.extents(in.id);
  Draft::Extents flat{{1, 1, 1, 1}, 0}, kept = whole;
  for (uint32_t d = 0; d < whole.sizes.size(); ++d) {
    const uint32_t part = d < block->first ? 0 : d < block->first + block->count ? 1 : 3;
    flat.sizes[part] *= whole.sizes[d];
    flat.dynamic_dims |= (whole.dynamic_dims >> d & 1) << part;
    if (part != 1) continue;
    kept.sizes[d] = 1;
    kept.dynamic_dims &= ~(1u << d);
  }
  const bool fits = whole.sizes.size() == 4 && block->first == 1 && block->count == 2;
  uint32_t id = in.id;
  if (!fits) {
    ETB_ASSIGN(id, draft.add_reshape(id, std::move(flat)));
  }
  if (reduction == Reduction::kMaximum) {
    ETB_ASSIGN(id, add_maximum(draft, id));
  } else {
    id = add_mean(draft, id);
    l.adopt_result_params(id);
  }
  ETB_ASSIGN(id, draft.add_reshape(id, std::move(kept)));
  return Form{id, in.perm};
}

// Removes dimensions of size 1.
Result<Form> without(Lowering& l, const Form& form, const std::vector<uint32_t>& dims) {
  const Draft::Extents wide = l.draft().extents(form.id);
  std::vector<bool> is_gone(wide.sizes.size(), false);  // by payload dimension
  for (const uint32_t dim : dims) is_gone[form.perm[dim]] = true;
  Draft::Extents narrow;
  std::vector<uint32_t> place(wide.sizes.size(), 0);
  for (size_t d = 0; d < wide.sizes.size(); ++d) {
    if (is_gone[d]) continue;
    place[d] = static_cast<uint32_t>(narrow.sizes.size());
    narrow.dynamic_dims |= (wide.dynamic_dims >> d & 1) << place[d];
    narrow.sizes.push_back(wide.sizes[d]);
  }
  Form out;
  for (const uint32_t d : form.perm) {
    if (!is_gone[d]) out.perm.push_back(place[d]);
  }
  ETB_ASSIGN(out.id, l.draft().add_reshape(form.id, std::move(narrow)));
  return out;
}

// Multiplies the mean by the count, as payloads have no sum.
Result<uint32_t> add_count(Lowering& l, uint32_t self, const std::vector<uint32_t>& dims, uint32_t mean) {
  uint64_t count = 1;
  for (const uint32_t dim : dims) {
    if ((l.extents(self).dynamic_dims >> dim & 1) != 0)
      return Lowering::refuse("dynamic", "dim: a dynamic dimension");
    count *= static_cast<uint64_t>(l.sizes(self)[dim]);
  }
  if (!std::has_single_bit(count))
    return Lowering::refuse("attribute", "dim: sums of ", count,
                            " numbers would be rounded twice, expected a power of two");
  return add_binary(l.draft(), XnnOperator::kMultiply, mean,
                    l.add_floats({1}, {static_cast<float>(count)}, mean), l.draft().extents(mean));
}

template <Reduction reduction>
Status lower(Lowering& l) {
  ETB_TRY(check_only_first_result_is_read(l, "indices"));
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  if (l.spec(self).dtype != l.spec(l.result()).dtype)
    return Lowering::refuse("dtype", "result of another type");
  ETB_ASSIGN(const bool keeps, l.flag("keepdim", false));
  ETB_ASSIGN(const std::vector<uint32_t> dims, reduced_dims(l, l.rank(self)));
  ETB_ASSIGN(Form made, reduced(l, self, dims, reduction));
  if (reduction == Reduction::kSum) {
    ETB_ASSIGN(made.id, add_count(l, self, dims, made.id));
  }
  if (!keeps) {
    ETB_ASSIGN(made, without(l, made, dims));
  }
  l.define(l.result(), made);
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.mean.dim",
     .lower = lower<Reduction::kMean>,
     .quantised = QuantKind::kComputes,
     .min_rank = 1,
     .constraint = "The dimensions lie side by side."},
    {.name = "aten.sum.dim_IntList",
     .lower = lower<Reduction::kSum>,
     .min_rank = 1,
     .constraint = "The dimensions lie side by side and are static; a power of two of numbers each."},
    {.name = "aten.amax.default",
     .lower = lower<Reduction::kMaximum>,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "The dimensions lie side by side and are static."},
    {.name = "aten.max.dim",
     .lower = lower<Reduction::kMaximum>,
     .quantised = QuantKind::kMoves,
     .min_rank = 1,
     .constraint = "The dimension is static; nobody reads the indices."},
};

}  // namespace

extern const OpList reduce_ops = kRows;

}  // namespace etb::xnnpack
