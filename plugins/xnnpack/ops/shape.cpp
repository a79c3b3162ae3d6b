// Ops that move elements and compute nothing. Transposes are only noted; views see through them where they can.
#include <algorithm>

#include "plugins/xnnpack/ops/ops.hpp"

namespace etb::xnnpack {

namespace {

bool is_one(const Draft::Extents& extents, size_t dim) {
  return extents.sizes[dim] == 1 && (extents.dynamic_dims >> dim & 1) == 0;
}

// Dimensions that are not 1, in the order of the tensor.
std::vector<uint32_t> real_dims(const Draft::Extents& extents) {
  std::vector<uint32_t> dims;
  for (uint32_t d = 0; d < extents.sizes.size(); ++d)
    if (!is_one(extents, d)) dims.push_back(d);
  return dims;
}

// A view takes some neighbouring dimensions and makes others of them.
struct Group {
  std::vector<uint32_t> from, to;
};

// The smallest groups of equal products, none when dynamic dimensions leave it open.
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

// The view of a value whose dimensions lie in another order; none when a group's dimensions do not lie side by side.
std::optional<std::pair<Draft::Extents, Permutation>> see_through(const Draft::Extents& from,
                                                                  const Permutation& perm,
                                                                  const Draft::Extents& to) {
  const auto groups = group(from, to);
  if (!groups) return std::nullopt;
  std::vector<uint32_t> places;  // of dimensions that are not 1, in payload order
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

Result<Form> slice_of(Lowering& l, uint32_t value, uint32_t dim, int64_t from, int64_t count) {
  ETB_ASSIGN(const Form in, l.form(value));
  const uint32_t place = in.perm[dim];
  Draft::Extents extents = l.draft().extents(in.id);
  if ((extents.dynamic_dims >> place & 1) != 0)
    return Lowering::refuse("dynamic", "dim ", dim, ": dynamic, expected static");
  if (from == 0 && count == static_cast<int64_t>(extents.sizes[place])) return in;
  if (l.draft().constant(in.id))
    return Lowering::refuse("constant", "a constant, expected a tensor known at run time");
  if (from < 0 || count <= 0 || from + count > static_cast<int64_t>(extents.sizes[place]))
    return Lowering::refuse("attribute", "nothing of dim ", dim);
  std::vector<uint32_t> offsets(extents.sizes.size(), 0);
  offsets[place] = static_cast<uint32_t>(from);
  extents.sizes[place] = static_cast<uint32_t>(count);
  std::vector<uint32_t> sizes = extents.sizes;
  for (size_t d = 0; d < sizes.size(); ++d)
    if ((extents.dynamic_dims >> d & 1) != 0) sizes[d] = 0;  // all there is
  const uint32_t out = l.draft().add_like(in.id, std::move(extents));
  XnnNode& node = l.draft().add_node(XnnOperator::kStaticSlice, {in.id}, {out});
  node.first = std::move(offsets);
  node.second = std::move(sizes);
  return Form{out, in.perm};
}

Status lower_view(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(Form made, view_of(l, self, l.extents(l.result())));
  l.define(l.result(), std::move(made));
  return {};
}

Status lower_alias(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(Form in, l.form(self));
  l.define(l.result(), std::move(in));
  return {};
}

Status lower_to_copy(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  const auto dtype = static_cast<etb_dtype>(l.spec(l.result()).dtype);
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(dtype));
  ETB_ASSIGN(const Form in, l.form(self));
  if (const ConstantPtr& constant = l.draft().constant(in.id)) {
    l.define(l.result(), {l.draft().add_constant(converted(constant, dtype), datatype), in.perm});
    return {};
  }
  if (l.draft().value(in.id).datatype == datatype) return lower_alias(l);
  ETB_ASSIGN(const uint32_t out, l.add_result(0, in.perm));
  l.draft().add_node(XnnOperator::kConvert, {in.id}, {out});
  return {};
}

namespace {

// Dimension i of the result is dimension dims[i] of the input.
Status permute(Lowering& l, uint32_t self, const std::vector<uint32_t>& dims) {
  ETB_ASSIGN(const Form in, l.form(self));
  Form out{in.id, {}};
  for (const uint32_t dim : dims) out.perm.push_back(in.perm[dim]);
  l.define(l.result(), std::move(out));
  return {};
}

}  // namespace

Status lower_permute(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const std::vector<int64_t> found, l.integers("dims", {}));
  const auto rank = static_cast<int64_t>(l.rank(self));
  std::vector<uint32_t> dims;
  for (const int64_t dim : found) dims.push_back(static_cast<uint32_t>(dim < 0 ? dim + rank : dim));
  std::vector<uint32_t> sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity(static_cast<size_t>(rank)))
    return Lowering::refuse("attribute", "dims: no permutation");
  return permute(l, self, dims);
}

Status lower_t(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  return l.rank(self) < 2 ? lower_alias(l) : permute(l, self, {1, 0});
}

Status lower_transpose(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  std::vector<uint32_t> dims = identity(l.rank(self));
  if (dims.empty()) return lower_alias(l);
  ETB_ASSIGN(const uint32_t a, l.dim("dim0", 0, dims.size()));
  ETB_ASSIGN(const uint32_t b, l.dim("dim1", 0, dims.size()));
  std::swap(dims[a], dims[b]);
  return permute(l, self, dims);
}

Status lower_expand(Lowering& l) {
  constexpr int64_t kMaxNumel = 1 << 18;  // of the zeros that are stored
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  const Draft::Extents to = l.extents(l.result());
  if (l.sizes(self) == l.sizes(l.result())) return lower_alias(l);
  Draft::Extents wide = l.extents(self);
  const size_t missing = to.sizes.size() - wide.sizes.size();
  wide.sizes.insert(wide.sizes.begin(), missing, 1);
  wide.dynamic_dims <<= missing;
  ETB_ASSIGN(const Form in, view_of(l, self, wide));
  if (in.perm.size() == to.sizes.size() && wide.sizes == to.sizes) {
    l.define(l.result(), in);
    return {};
  }
  if (to.dynamic_dims != 0) return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const std::vector<int64_t> sizes = l.sizes(l.result());
  ETB_ASSIGN(const uint32_t narrow, l.natural(self));
  if (const ConstantPtr& constant = l.draft().constant(narrow)) {
    l.define(l.result(), {l.draft().add_constant(expanded(constant, sizes), l.draft().value(narrow).datatype),
                          identity(sizes.size())});
    return {};
  }
  if (numel_of(sizes) > kMaxNumel)
    return Lowering::refuse("attribute", "size: ", numel_of(sizes), " elements, expected at most ",
                            kMaxNumel);
  const uint32_t zeros =
      l.add_floats(sizes, std::vector<float>(static_cast<size_t>(numel_of(sizes)), 0), narrow);
  ETB_ASSIGN(const uint32_t out, l.add_result());
  l.draft().add_node(XnnOperator::kAdd, {narrow, zeros}, {out});
  return {};
}

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

Status lower_slice(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const uint32_t dim, l.dim("dim", 0, l.rank(self)));
  ETB_ASSIGN(const int64_t step, l.integer("step", 1));
  ETB_ASSIGN(int64_t start, l.integer("start", 0));
  if (step != 1) return Lowering::refuse("attribute", "step: ", step, ", expected 1");
  const int64_t extent = l.sizes(self)[dim];
  if (start < 0) start += extent;
  start = std::clamp<int64_t>(start, 0, extent);
  if ((l.extents(self).dynamic_dims >> dim & 1) != 0)
    return Lowering::refuse("dynamic", "dim ", dim, ": dynamic, expected static");
  ETB_ASSIGN(Form out, slice_of(l, self, dim, start, l.sizes(l.result())[dim]));
  l.define(l.result(), std::move(out));
  return {};
}

namespace {

// Index `at` of a dimension, which goes.
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

}  // namespace

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
  int64_t start = 0;
  for (uint32_t i = 0; i < l.result_count(); ++i) {
    const int64_t count = l.sizes(l.result(i))[dim];
    ETB_ASSIGN(Form out, slice_of(l, self, dim, start, count));
    l.define(l.result(i), std::move(out));
    start += count;
  }
  return {};
}

Status lower_pad(Lowering& l) {
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const std::vector<int64_t> pad, l.integers("pad", {}));
  ETB_ASSIGN(const double value, l.number("value", 0));
  const size_t rank = l.rank(self);
  ETB_ASSIGN(const Form in, l.form(self));
  std::vector<uint32_t> before(rank, 0), after(rank, 0);
  for (size_t i = 0; 2 * i + 1 < pad.size() && i < rank; ++i) {
    if (pad[2 * i] < 0 || pad[2 * i + 1] < 0)
      return Lowering::refuse("attribute", "pad: negative, expected 0 or more");
    before[in.perm[rank - 1 - i]] = static_cast<uint32_t>(pad[2 * i]);
    after[in.perm[rank - 1 - i]] = static_cast<uint32_t>(pad[2 * i + 1]);
  }
  ETB_ASSIGN(const uint32_t out, l.add_result(0, in.perm));
  XnnNode& node = l.draft().add_node(XnnOperator::kConstantPad, {in.id}, {out});
  node.first = std::move(before);
  node.second = std::move(after);
  node.value = static_cast<float>(value);
  return {};
}

Status lower_pixel_shuffle(Lowering& l) {
  Draft& draft = l.draft();
  ETB_ASSIGN(const uint32_t self, l.value("self"));
  ETB_ASSIGN(const int64_t factor, l.integer("upscale_factor", 1));
  const Draft::Extents in = l.extents(self), to = l.extents(l.result());
  if (in.dynamic_dims != 0) return Lowering::refuse("dynamic", "dynamic sizes, expected static ones");
  const auto r = static_cast<uint32_t>(factor);
  const uint32_t n = in.sizes[0], c = to.sizes[1], h = in.sizes[2], w = in.sizes[3];
  ETB_ASSIGN(const uint32_t id, l.arranged(self, kChannelsLast));
  ETB_ASSIGN(const uint32_t parts, draft.add_reshape(id, {{n, h, w, c, r, r}, 0}));
  const uint32_t moved = draft.add_transpose(parts, {0, 1, 4, 2, 5, 3});
  ETB_ASSIGN(const uint32_t out, draft.add_reshape(moved, {{n, h * r, w * r, c}, 0}));
  l.define(l.result(), {out, kChannelsLast});
  return {};
}

}  // namespace etb::xnnpack
