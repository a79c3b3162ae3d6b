// SPDX-License-Identifier: Apache-2.0
// Lists of tensors: splits, joins, and what is made of several at once.
#include <algorithm>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Values split_evenly(Builder& b, const Arguments& a, Dim size, Dim part, int64_t dim) {
  if (!size.is_static() || !part.is_static() || part.value() < 0 ||
      (part.value() == 0 && size.value() != 0)) {
    a.fail("split of a symbolic size");
    return {};
  }
  Dims sizes;
  for (int64_t rest = size.value(); rest > 0 || sizes.empty(); rest -= part.value()) {
    sizes.emplace_back(std::min(rest, part.value()));
    if (part.value() == 0) break;
  }
  return b.call_all("aten.split_with_sizes.default", {a.ref(0), std::move(sizes), Dim(dim)});
}
Dim split_size(const Arguments& a, int64_t dim) {
  const TensorSpec& in = a.tensor(0);
  const size_t axis = a.axis(dim, in.rank());
  return in.rank() == 0 ? Dim(1) : in.sizes[axis];
}
Values split(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(2);
  return split_evenly(b, a, split_size(a, dim), a.dim(1), dim);
}
Values chunk(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(2), count = a.integer(1);
  const Dim size = split_size(a, dim);
  if (count <= 0) {
    a.fail("chunk into none");
    return {};
  }
  return split_evenly(b, a, size, b.symbols().floor_div(b.symbols().add(size, count - 1), count), dim);
}
Values unbind(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(1);
  const Dim size = split_size(a, dim);
  if (!size.is_static() || a.tensor(0).rank() == 0) {
    a.fail("unbind of a symbolic size");
    return {};
  }
  Values slices, out;
  for (int64_t i = 0; i < size.value(); ++i) {
    slices.push_back(b.call("aten.slice.Tensor", {a.ref(0), Dim(dim), Dim(i), Dim(i + 1)}));
  }
  for (const ValueId slice : slices) {
    out.push_back(b.call("aten.squeeze.dims", {ValueRef{slice}, Dims{Dim(dim)}}));
  }
  return out;
}
// Parts that end at the given places of dimension `dim`.
Values split_at(Builder& b, const Arguments& a, const Dims& places, int64_t dim) {
  Values out;
  Dim begin = 0;
  for (size_t i = 0; i <= places.size(); ++i) {
    const Dim end = i < places.size() ? places[i] : split_size(a, dim);
    out.push_back(b.call("aten.slice.Tensor", {a.ref(0), Dim(dim), begin, end}));
    begin = end;
  }
  return out;
}
// As many parts as asked for, the first ones longer by one element where they cannot be alike.
Values split_into(Builder& b, const Arguments& a, int64_t count, int64_t dim) {
  const Dim size = split_size(a, dim);
  if (count <= 0 || !size.is_static()) {
    a.fail("split of a symbolic size, or into none");
    return {};
  }
  Dims places;
  const int64_t part = size.value() / count, longer = size.value() % count;
  for (int64_t i = 1; i < count; ++i) places.emplace_back(i * part + std::min(i, longer));
  return split_at(b, a, places, dim);
}
Values tensor_split(Builder& b, const Arguments& a) { return split_into(b, a, a.integer(1), a.integer(2)); }
Values tensor_split_at(Builder& b, const Arguments& a) { return split_at(b, a, a.dims(1), a.integer(2)); }
int64_t horizontal(const Arguments& a) { return a.tensor(0).rank() == 1 ? 0 : 1; }
Values hsplit(Builder& b, const Arguments& a) { return split_into(b, a, a.integer(1), horizontal(a)); }
Values hsplit_at(Builder& b, const Arguments& a) { return split_at(b, a, a.dims(1), horizontal(a)); }
template <int64_t Axis>
Values split_along(Builder& b, const Arguments& a) {
  return split_into(b, a, a.integer(1), Axis);
}
template <int64_t Axis>
Values split_along_at(Builder& b, const Arguments& a) {
  return split_at(b, a, a.dims(1), Axis);
}
// self, sizes, dim
Values split_with_sizes(Builder& b, const Arguments& a) {
  return b.call_all("aten.split_with_sizes.default", {a.ref(0), a.argument(1), a.argument(2)});
}

Values stack(Builder& b, const Arguments& a) {
  const std::vector<ValueId> parts = a.values(0);
  if (parts.empty()) return {};
  const TensorSpec first = b.spec(parts[0]);
  const size_t axis = a.axis(a.integer(1), first.rank() + 1);
  if (axis == first.rank()) {
    ir::ValueList columns;
    for (const ValueId part : parts) {
      columns.ids.push_back(
          b.call("aten.unsqueeze.default", {ValueRef{part}, Dim(static_cast<int64_t>(axis))}));
    }
    return {b.call("aten.cat.default", {std::move(columns), Dim(static_cast<int64_t>(axis))})};
  }
  const ValueId joined = b.call("aten.cat.default", {ir::ValueList{parts}, Dim(static_cast<int64_t>(axis))});
  Dims sizes = first.sizes;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), Dim(static_cast<int64_t>(parts.size())));
  return {b.call("aten.view.default", {ValueRef{joined}, std::move(sizes)})};
}

// Lines of the tensors' elements, each along its own dimension and as wide as all others.
Values meshgrid(Builder& b, const Arguments& a) {
  std::vector<ValueId> parts = a.values(0);
  const auto* indexing = a.argument_count() > 1 ? ir::get_if<std::string>(a.argument(1)) : nullptr;
  const bool swaps = indexing != nullptr && *indexing == "xy" && parts.size() >= 2;
  if (swaps) std::swap(parts[0], parts[1]);
  Dims sizes;
  for (const ValueId part : parts) sizes.push_back(ir::numel(b.symbols(), b.spec(part).sizes));
  Values out;
  for (size_t i = 0; i < parts.size(); ++i) {
    Dims line(parts.size(), Dim(1));
    line[i] = sizes[i];
    const ValueId own = reshape(b, parts[i], std::move(line));
    ValueId grid = b.call("aten.expand.default", {ValueRef{own}, Argument(sizes)});
    if (swaps) grid = transpose(b, grid, 0, 1);
    out.push_back(grid);
  }
  if (swaps) std::swap(out[0], out[1]);
  return out;
}

// Tensors of too few dimensions get leading ones.
Values stack_along(Builder& b, const Arguments& a, size_t least_rank, int64_t dim) {
  ir::ValueList parts;
  for (ValueId part : a.values(0)) {
    Dims sizes = sizes_of(b, part);
    if (sizes.size() < least_rank) {
      sizes.insert(sizes.begin(), least_rank - sizes.size(), Dim(1));
      part = b.call("aten.view.default", {ValueRef{part}, std::move(sizes)});
    }
    parts.ids.push_back(part);
  }
  if (parts.ids.empty()) return {};
  return {b.call("aten.cat.default", {std::move(parts), Dim(dim)})};
}
Values hstack(Builder& b, const Arguments& a) {
  const std::vector<ValueId> parts = a.values(0);
  const bool are_lines = !parts.empty() && b.spec(parts[0]).rank() <= 1;
  return stack_along(b, a, 1, are_lines ? 0 : 1);
}
Values vstack(Builder& b, const Arguments& a) { return stack_along(b, a, 2, 0); }

// A list of tensors, each with at least so many dimensions.
template <size_t Rank>
Values at_least_each(Builder& b, const Arguments& a) {
  static constexpr std::string_view kOps[] = {"aten.atleast_1d.default", "aten.atleast_2d.default",
                                              "aten.atleast_3d.default"};
  Values out;
  for (const ValueId value : a.values(0)) out.push_back(b.call(kOps[Rank - 1], {ValueRef{value}}));
  return out;
}
Values dstack(Builder& b, const Arguments& a) {
  ir::ValueList parts{at_least_each<3>(b, a)};
  return {b.call("aten.cat.default", {std::move(parts), Dim(2)})};
}
// Vectors become columns.
Values column_stack(Builder& b, const Arguments& a) {
  ir::ValueList parts;
  for (const ValueId value : a.values(0)) {
    const size_t rank = b.spec(value).rank();
    parts.ids.push_back(rank > 1 ? value : reshape(b, value, {Dim(-1), Dim(1)}));
  }
  return {b.call("aten.cat.default", {std::move(parts), Dim(1)})};
}

Values broadcast_tensors(Builder& b, const Arguments& a) {
  Dims sizes;
  const std::vector<ValueId> parts = a.values(0);
  for (const ValueId part : parts) sizes = infer::broadcast(a, sizes, sizes_of(b, part));
  Values out;
  for (const ValueId part : parts)
    out.push_back(b.call("aten.expand.default", {ValueRef{part}, Argument(sizes)}));
  return out;
}

// One row for each choice of an element of every vector.
Values cartesian_prod(Builder& b, const Arguments& a) {
  const std::vector<ValueId> parts = a.values(0);
  if (parts.size() == 1) return {parts[0]};
  ir::ValueList columns;
  for (const ValueId grid : b.call_all("aten.meshgrid.indexing", {ir::ValueList{parts}, std::string("ij")}))
    columns.ids.push_back(reshape(b, grid, {Dim(-1)}));
  return {b.call("aten.stack.default", {std::move(columns), Dim(1)})};
}

Values block_diag(Builder& b, const Arguments& a) {
  Dim width = 0;
  std::vector<ValueId> blocks;
  for (const ValueId part : a.values(0)) {
    blocks.push_back(b.call("aten.atleast_2d.default", {ValueRef{part}}));
    width = b.symbols().add(width, sizes_of(b, blocks.back()).at(1));
  }
  ir::ValueList rows;
  Dim left = 0;
  for (const ValueId block : blocks) {
    const Dim own = sizes_of(b, block).at(1);
    const Dim right = b.symbols().sub(b.symbols().sub(width, left), own);
    rows.ids.push_back(b.call("aten.constant_pad_nd.default", {ValueRef{block}, Dims{left, right}, Dim(0)}));
    left = b.symbols().add(left, own);
  }
  return {b.call("aten.cat.default", {std::move(rows), Dim(0)})};
}

// sequences, batch_first, padding_value, padding_side: sequences of any length as rows of one tensor.
Values pad_sequence(Builder& b, const Arguments& a) {
  const std::vector<ValueId> parts = a.values(0);
  int64_t longest = 0;
  for (const ValueId part : parts) {
    const Dims sizes = sizes_of(b, part);
    if (sizes.empty() || !sizes[0].is_static()) return {};
    longest = std::max(longest, sizes[0].value());
  }
  const auto* side = a.has(3) ? ir::get_if<std::string>(a.argument(3)) : nullptr;
  const bool is_left = side != nullptr && *side == "left";
  ir::ValueList rows;
  for (const ValueId part : parts) {
    const Dims sizes = sizes_of(b, part);
    Dims pad(2 * sizes.size(), Dim(0));
    pad[pad.size() - (is_left ? 2 : 1)] = Dim(longest - sizes[0].value());
    rows.ids.push_back(
        b.call("aten.constant_pad_nd.default", {ValueRef{part}, std::move(pad), a.argument(2)}));
  }
  return {b.call("aten.stack.default", {std::move(rows), Dim(a.flag(1) ? 0 : 1)})};
}

}  // namespace

std::span<const Decomposition> list_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.atleast_1d.Sequence", at_least_each<1>},
      {"aten.atleast_2d.Sequence", at_least_each<2>},
      {"aten.atleast_3d.Sequence", at_least_each<3>},
      {"aten.block_diag.default", block_diag},
      {"aten.broadcast_tensors.default", broadcast_tensors},
      {"aten.cartesian_prod.default", cartesian_prod},
      {"aten.chunk.default", chunk},
      {"aten.column_stack.default", column_stack},
      {"aten.dsplit.array", split_along_at<2>},
      {"aten.dsplit.int", split_along<2>},
      {"aten.dstack.default", dstack},
      {"aten.hsplit.array", hsplit_at},
      {"aten.hsplit.int", hsplit},
      {"aten.hstack.default", hstack},
      {"aten.meshgrid.default", meshgrid},
      {"aten.meshgrid.indexing", meshgrid},
      {"aten.pad_sequence.default", pad_sequence},
      {"aten.split.Tensor", split},
      {"aten.split.sizes", split_with_sizes},
      {"aten.stack.default", stack},
      {"aten.tensor_split.indices", tensor_split_at},
      {"aten.tensor_split.sections", tensor_split},
      {"aten.unbind.int", unbind},
      {"aten.unsafe_chunk.default", chunk},
      {"aten.unsafe_split.Tensor", split},
      {"aten.unsafe_split_with_sizes.default", split_with_sizes},
      {"aten.vsplit.array", split_along_at<0>},
      {"aten.vsplit.int", split_along<0>},
      {"aten.vstack.default", vstack},
  };
  return kRows;
}

}  // namespace etb::passes
