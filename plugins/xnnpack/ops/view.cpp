// SPDX-License-Identifier: Apache-2.0
// Ops that keep the elements in their order.
#include <algorithm>

#include "ops/squeeze_copy.hpp"
#include "ops/unsqueeze_copy.hpp"
#include "ops/view_copy.hpp"
#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

bool is_one(const Extents& extents, size_t dim) {
  return extents.sizes[dim] == 1 && !extents.is_dynamic(dim);
}

// Returns the dimensions other than 1, in the order of the tensor.
std::vector<uint32_t> real_dims(const Extents& extents) {
  std::vector<uint32_t> dims;
  for (uint32_t d = 0; d < extents.sizes.size(); ++d)
    if (!is_one(extents, d)) dims.push_back(d);
  return dims;
}

// A run of input dimensions that a view merges or splits into a run of output dimensions.
struct Group {
  std::vector<uint32_t> from, to;
};

// Returns the smallest groups of equal products, or none if dynamic dimensions make them ambiguous: bounds may be equal
// where sizes are not. A dynamic dimension is a group with one other, so all groups are right at each size.
std::optional<std::vector<Group>> group(const Extents& from, const Extents& to) {
  const std::vector<uint32_t> a = real_dims(from), b = real_dims(to);
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Group& next = groups.emplace_back();
    uint64_t left = from.sizes[a[i]], right = to.sizes[b[j]];
    bool has_dynamic = from.is_dynamic(a[i]) || to.is_dynamic(b[j]);
    next.from.push_back(a[i++]);
    next.to.push_back(b[j++]);
    while (left != right) {
      if (left < right && i < a.size()) {
        has_dynamic = has_dynamic || from.is_dynamic(a[i]);
        left *= from.sizes[a[i]];
        next.from.push_back(a[i++]);
      } else if (right < left && j < b.size()) {
        has_dynamic = has_dynamic || to.is_dynamic(b[j]);
        right *= to.sizes[b[j]];
        next.to.push_back(b[j++]);
      } else {
        return std::nullopt;
      }
    }
    const bool is_pair = next.from.size() == 1 && next.to.size() == 1;
    if (has_dynamic && !(is_pair && from.is_dynamic(next.from[0]) && to.is_dynamic(next.to[0])))
      return std::nullopt;
  }
  if (i != a.size() || j != b.size()) return std::nullopt;
  return groups;
}

// Returns the view of a value with another dimension order, or none if a group's dimensions are not
// contiguous.
std::optional<std::pair<Extents, Permutation>> see_through(const Extents& from, const Permutation& perm,
                                                           const Extents& to) {
  const auto groups = group(from, to);
  if (!groups) return std::nullopt;
  std::vector<uint32_t> axes;  // payload dimensions other than 1
  for (const uint32_t d : real_dims(from)) axes.push_back(perm[d]);
  std::sort(axes.begin(), axes.end());
  const auto position = [&](uint32_t dim) {
    return static_cast<size_t>(std::lower_bound(axes.begin(), axes.end(), perm[dim]) - axes.begin());
  };
  std::vector<std::pair<size_t, const Group*>> ordered;
  for (const Group& g : *groups) {
    for (size_t k = 1; k < g.from.size(); ++k)
      if (position(g.from[k]) != position(g.from[k - 1]) + 1) return std::nullopt;
    ordered.emplace_back(position(g.from[0]), &g);
  }
  if (std::is_sorted(ordered.begin(), ordered.end())) return std::pair{to, identity(to.sizes.size())};
  std::sort(ordered.begin(), ordered.end());
  Extents payload;
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

Result<LoweredValue> view_of(LoweringContext& context, uint32_t value, const Extents& to) {
  ETB_ASSIGN(const LoweredValue in, context.lowered(value));
  const Extents from = context.graph().extents(value);
  if (from == to) return in;
  if (auto seen = see_through(from, in.perm, to)) {
    ETB_ASSIGN(const uint32_t id, context.builder().add_reshape(in.id, std::move(seen->first)));
    return LoweredValue{id, std::move(seen->second)};
  }
  ETB_ASSIGN(const uint32_t id, context.natural(value));
  ETB_ASSIGN(const uint32_t made, context.builder().add_reshape(id, to));
  return LoweredValue{made, identity(to.sizes.size())};
}

namespace {

// The sizes of the result say how.
Status lower_view(LoweringContext& context, SelfArgument args) {
  ETB_ASSIGN(const uint32_t self, args.self.id());
  ETB_ASSIGN(LoweredValue made, view_of(context, self, context.graph().extents(context.result())));
  context.define(context.result(), std::move(made));
  return {};
}

// Returns the formulas of the dynamic dimensions, in order.
std::vector<uint32_t> formulas_of(const etb_graph_spec& spec) {
  std::vector<uint32_t> formulas;
  for (uint32_t d = 0; d < spec.rank; ++d)
    if ((spec.dynamic_dims >> d & 1) != 0) formulas.push_back(spec.exprs[d]);
  return formulas;
}

// Upper bounds do not show which of several dynamic dimensions of the input is which of the result.
Status lower_view_copy(LoweringContext& context, ops::view_copy_default<NodeArguments> args) {
  ETB_ASSIGN(const uint32_t self, args.self().id());
  const std::vector<uint32_t> from = formulas_of(context.graph().spec(self)),
                              to = formulas_of(context.graph().spec(context.result()));
  const bool is_unknown = std::count(from.begin(), from.end(), ETB_GRAPH_NONE) != 0;
  if (from.size() > 1 && to.size() > 1 && (is_unknown || from != to))
    return reject("dynamic", "size: ", to.size(),
                  " dynamic dimensions, expected those of self in their order");
  return lower_view(context, SelfArgument(args));
}

constexpr Op kRows[] = {
    op_row<ops::view_copy_default, lower_view_copy>(
        {.quantised = QuantKind::kMoves,
         .constraint = "At most one dynamic dimension in the result.",
         .traits = kFolds}),
    op_row<ops::squeeze_copy_dim, lower_view>({.quantised = QuantKind::kMoves,
                                               .constraint = "At most one dynamic dimension in the result.",
                                               .traits = kFolds}),
    op_row<ops::squeeze_copy_dims, lower_view>({.quantised = QuantKind::kMoves,
                                                .constraint = "At most one dynamic dimension in the result.",
                                                .traits = kFolds}),
    op_row<ops::unsqueeze_copy_default, lower_view>(
        {.quantised = QuantKind::kMoves,
         .constraint = "At most one dynamic dimension in the result.",
         .traits = kFolds}),
};

}  // namespace

extern const OpList view_ops = kRows;

}  // namespace etb::xnnpack
