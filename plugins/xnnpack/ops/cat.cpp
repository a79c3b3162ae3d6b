// SPDX-License-Identifier: Apache-2.0
// Concatenation, in nodes of up to five inputs.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

Status lower_cat(Lowering& l) {
  constexpr std::array kOperators = {XnnOperator::kConcatenate2, XnnOperator::kConcatenate3,
                                     XnnOperator::kConcatenate4, XnnOperator::kConcatenate5};
  Draft& draft = l.draft();
  ETB_ASSIGN(const std::vector<uint32_t> tensors, l.values("tensors"));
  const size_t rank = l.rank(l.result());
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", 0, rank));
  Permutation order = identity(rank);
  for (const uint32_t tensor : tensors) {
    if (l.rank(tensor) != rank) return Lowering::refuse("rank", "tensors of several ranks");
    ETB_ASSIGN(const Form form, l.form(tensor));
    if (is_identity(order) && !draft.constant(form.id)) order = form.perm;
  }
  std::vector<uint32_t> parts;
  bool has_variable = false;
  for (const uint32_t tensor : tensors) {
    ETB_ASSIGN(const uint32_t id, l.arranged(tensor, order));
    if (draft.value(id).datatype != draft.value(parts.empty() ? id : parts[0]).datatype)
      return Lowering::refuse("dtype", "tensors of several types");
    has_variable = has_variable || !draft.constant(id);
    parts.push_back(id);
  }
  if (!has_variable) return Lowering::refuse("constant", "all tensors are constants");
  if (parts.size() == 1) return l.define(l.result(), {parts[0], order}), Status{};
  const uint32_t axis = order[dim];
  const auto join = [&](const std::vector<uint32_t>& some, uint32_t out) {
    draft.add_node(kOperators[some.size() - 2], some, {out}).axis = static_cast<int32_t>(axis);
  };
  while (parts.size() > kOperators.size() + 1) {
    std::vector<uint32_t> joined;
    for (size_t i = 0; i < parts.size(); i += 5) {
      const std::vector<uint32_t> some(
          parts.begin() + static_cast<std::ptrdiff_t>(i),
          parts.begin() + static_cast<std::ptrdiff_t>(std::min(i + 5, parts.size())));
      if (some.size() == 1) {
        joined.push_back(some[0]);
        continue;
      }
      Draft::Extents extents = draft.extents(some[0]);
      for (size_t k = 1; k < some.size(); ++k) {
        extents.sizes[axis] += draft.value(some[k]).sizes[axis];
        extents.dynamic_dims |= draft.extents(some[k]).dynamic_dims;
      }
      joined.push_back(draft.add_like(some[0], std::move(extents)));
      join(some, joined.back());
    }
    parts = std::move(joined);
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, order));
  join(parts, out);
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.cat.default", .lower = lower_cat, .quantised = QuantKind::kMoves, .min_rank = 1},
};

}  // namespace

extern const OpList cat_ops = kRows;

}  // namespace etb::xnnpack
