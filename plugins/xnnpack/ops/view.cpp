// SPDX-License-Identifier: Apache-2.0
// Ops that keep the elements in their order.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

bool is_one(const Draft::Extents& extents, size_t dim) {
  return extents.sizes[dim] == 1 && (extents.dynamic_dims >> dim & 1) == 0;
}

// Returns the dimensions other than 1, in the order of the tensor.
std::vector<uint32_t> real_dims(const Draft::Extents& extents) {
  std::vector<uint32_t> dims;
  for (uint32_t d = 0; d < extents.sizes.size(); ++d)
    if (!is_one(extents, d)) dims.push_back(d);
  return dims;
}

// A run of input dimensions that a view merges or splits into a run of output dimensions.
struct Group {
  std::vector<uint32_t> from, to;
};

// Returns the smallest groups of equal products, or none if dynamic dimensions make them ambiguous.
std::optional<std::vector<Group>> group(const Draft::Extents& from, const Draft::Extents& to) {
  const std::vector<uint32_t> a = real_dims(from), b = real_dims(to);
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Group& next = groups.emplace_back();
    const auto is_dynamic = [](const Draft::Extents& e, uint32_t d) {
      return (e.dynamic_dims >> d & 1) != 0;
    };
    uint64_t left = from.sizes[a[i]], right = to.sizes[b[j]];
    bool has_dynamic = is_dynamic(from, a[i]) || is_dynamic(to, b[j]);
    next.from.push_back(a[i++]);
    next.to.push_back(b[j++]);
    while (left != right) {
      if (left < right && i < a.size()) {
        has_dynamic = has_dynamic || is_dynamic(from, a[i]);
        left *= from.sizes[a[i]];
        next.from.push_back(a[i++]);
      } else if (right < left && j < b.size()) {
        has_dynamic = has_dynamic || is_dynamic(to, b[j]);
        right *= to.sizes[b[j]];
        next.to.push_back(b[j++]);
      } else {
        return std::nullopt;
      }
    }
    if (has_dynamic && (next.from.size() != 1 || next.to.size() != 1)) return std::nullopt;
  }
  if (i != a.size() || j != b.size()) return std::nullopt;
  return groups;
}

// Returns the view of a value with another dimension order, or none if a group's dimensions are not
// contiguous.
std::optional<std::pair<Draft::Extents, Permutation>> see_through(const Draft::Extents& from,
                                                                  const Permutation& perm,
                                                                  const Draft::Extents& to) {
  const auto groups = group(from, to);
  if (!groups) return std::nullopt;
  std::vector<uint32_t> places;  // indices of dimensions other than 1, in payload order
  for (const uint32_t d : real_dims(from)) places.push_back(perm[d]);
  std::sort(places.begin(), places.end());
  const auto position = [&](uint32_t dim) {
    return static_cast<size_t>(std::lower_bound(places.begin(), places.end(), perm[dim]) - places.begin());
  };
  std::vector<std::pair<size_t, const Group*>> ordered;
  for (const Group& g : *groups) {
    for (size_t k = 1; k < g.from.size(); ++k)
      if (position(g.from[k]) != position(g.from[k - 1]) + 1) return std::nullopt;
    ordered.emplace_back(position(g.from[0]), &g);
  }
  if (std::is_sorted(ordered.begin(), ordered.end())) return std::pair{to, identity(to.sizes.size())};
  std::sort(ordered.begin(), ordered.end());
  Draft::Extents payload;
  Permutation out(to.sizes.size());
  const auto put = [&](uint32_t d) {
    out[d] = static_cast<uint32_t>(payload.sizes.size());
    payload.dynamic_dims |= (to.dynamic_dims >> d & 1) << out[d];
    payload.sizes.push_back(to.sizes[d]);
  };
  for (uint32_t d = 0; d < to.sizes.size(); ++d)
    if (is_one(to, d)) put(d);
  for (const auto& [at, g] : ordered)
    for (const uint32_t d : g->to) put(d);
  return std::pair{std::move(payload), std::move(out)};
}

}  // namespace

Result<Form> view_of(Lowering& l, uint32_t value, const Draft::Extents& to) {
  ETB_ASSIGN(const Form in, l.form(value));
  const Draft::Extents from = l.extents(value);
  if (from.sizes == to.sizes) return in;
  if (auto seen = see_through(from, in.perm, to)) {
    ETB_ASSIGN(const uint32_t id, l.draft().add_reshape(in.id, std::move(seen->first)));
    return Form{id, std::move(seen->second)};
  }
  ETB_ASSIGN(const uint32_t id, l.natural(value));
  ETB_ASSIGN(const uint32_t made, l.draft().add_reshape(id, to));
  return Form{made, identity(to.sizes.size())};
}

namespace {

Status lower_view(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(Form made, view_of(l, self, l.extents(l.result())));
  l.define(l.result(), std::move(made));
  return {};
}

constexpr Op kRows[] = {
    {.name = "aten.view_copy.default",
     .lower = lower_view,
     .quantised = QuantKind::kMoves,
     .constraint = "At most one dynamic dimension in the result.",
     .traits = kFolds},
    {.name = "aten.squeeze_copy.dim",
     .lower = lower_view,
     .quantised = QuantKind::kMoves,
     .constraint = "At most one dynamic dimension in the result.",
     .traits = kFolds},
    {.name = "aten.squeeze_copy.dims",
     .lower = lower_view,
     .quantised = QuantKind::kMoves,
     .constraint = "At most one dynamic dimension in the result.",
     .traits = kFolds},
    {.name = "aten.unsqueeze_copy.default",
     .lower = lower_view,
     .quantised = QuantKind::kMoves,
     .constraint = "At most one dynamic dimension in the result.",
     .traits = kFolds},
};

}  // namespace

extern const OpList view_ops = kRows;

}  // namespace etb::xnnpack
