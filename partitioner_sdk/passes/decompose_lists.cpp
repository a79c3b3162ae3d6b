// SPDX-License-Identifier: Apache-2.0
// Lists of tensors: splits, joins, and ops over several tensors at once.
#include <algorithm>

#include "ops/_chunk_cat.hpp"
#include "ops/atleast_1d.hpp"
#include "ops/atleast_2d.hpp"
#include "ops/atleast_3d.hpp"
#include "ops/block_diag.hpp"
#include "ops/broadcast_tensors.hpp"
#include "ops/cartesian_prod.hpp"
#include "ops/chunk.hpp"
#include "ops/column_stack.hpp"
#include "ops/dsplit.hpp"
#include "ops/dstack.hpp"
#include "ops/hsplit.hpp"
#include "ops/hstack.hpp"
#include "ops/meshgrid.hpp"
#include "ops/pad_sequence.hpp"
#include "ops/split.hpp"
#include "ops/stack.hpp"
#include "ops/tensor_split.hpp"
#include "ops/unbind.hpp"
#include "ops/unsafe_chunk.hpp"
#include "ops/unsafe_split.hpp"
#include "ops/unsafe_split_with_sizes.hpp"
#include "ops/vsplit.hpp"
#include "ops/vstack.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

template <class A>
Values split_evenly(Builder& b, const A& a, Dim size, Dim part, int64_t dim) {
  if (!size.is_static() || !part.is_static() || part.value() < 0 ||
      (part.value() == 0 && size.value() != 0)) {
    a.fail("the dimension to split and the split size must be known at compile time, the latter at least 1");
    return {};
  }
  Dims sizes;
  for (int64_t rest = size.value(); rest > 0 || sizes.empty(); rest -= part.value()) {
    sizes.emplace_back(std::min(rest, part.value()));
    if (part.value() == 0) break;
  }
  return b.call_all("aten.split_with_sizes.default", {a.self(), std::move(sizes), Dim(dim)});
}
template <class A>
Dim split_size(const A& a, int64_t dim) {
  const TensorSpec& in = a.self().spec();
  const size_t axis = a.axis(dim, in.rank());
  return in.rank() == 0 ? Dim(1) : in.sizes[axis];
}
template <class A>
Values split(Builder& b, const A& a) {
  const int64_t dim = a.dim().integer();
  return split_evenly(b, a, split_size(a, dim), a.split_size().dim(), dim);
}
template <class A>
Values chunk(Builder& b, const A& a) {
  const int64_t dim = a.dim().integer(), count = a.chunks().integer();
  const Dim size = split_size(a, dim);
  if (count <= 0) {
    a.fail("chunks is " + std::to_string(count) + ", expected at least 1");
    return {};
  }
  return split_evenly(b, a, size, b.symbols().floor_div(b.symbols().add(size, count - 1), count), dim);
}
Values unbind(Builder& b, const ops::unbind_int<Call>& a) {
  const int64_t dim = a.dim().integer();
  const Dim size = split_size(a, dim);
  if (!size.is_static() || a.self().spec().rank() == 0) {
    a.fail("the tensor is 0-d, or the size of the dimension to unbind is known only at run time");
    return {};
  }
  Values slices, out;
  for (int64_t i = 0; i < size.value(); ++i) {
    slices.push_back(b.call("aten.slice.Tensor", {a.self(), Dim(dim), Dim(i), Dim(i + 1)}));
  }
  for (const ValueId slice : slices) {
    out.push_back(b.call("aten.squeeze.dims", {ValueRef{slice}, Dims{Dim(dim)}}));
  }
  return out;
}
// Returns the parts of dimension `dim` that end at the given indices.
template <class A>
Values split_at(Builder& b, const A& a, const Dims& places, int64_t dim) {
  Values out;
  Dim begin = 0;
  for (size_t i = 0; i <= places.size(); ++i) {
    const Dim end = i < places.size() ? places[i] : split_size(a, dim);
    out.push_back(b.call("aten.slice.Tensor", {a.self(), Dim(dim), begin, end}));
    begin = end;
  }
  return out;
}
// Returns as many parts as requested; when they cannot be equal, the first ones are longer by one element.
template <class A>
Values split_into(Builder& b, const A& a, int64_t count, int64_t dim) {
  const Dim size = split_size(a, dim);
  if (count <= 0 || !size.is_static()) {
    a.fail(count <= 0 ? std::to_string(count) + " parts requested, expected at least 1"
                      : "the size of the dimension to split is known only at run time");
    return {};
  }
  Dims places;
  const int64_t part = size.value() / count, longer = size.value() % count;
  for (int64_t i = 1; i < count; ++i) places.emplace_back(i * part + std::min(i, longer));
  return split_at(b, a, places, dim);
}
Values tensor_split(Builder& b, const ops::tensor_split_sections<Call>& a) {
  return split_into(b, a, a.sections().integer(), a.dim().integer());
}
Values tensor_split_at(Builder& b, const ops::tensor_split_indices<Call>& a) {
  return split_at(b, a, a.indices().dims(), a.dim().integer());
}
int64_t horizontal(const TensorSpec& self) { return self.rank() == 1 ? 0 : 1; }
Values hsplit(Builder& b, const ops::hsplit_int<Call>& a) {
  return split_into(b, a, a.sections().integer(), horizontal(a.self().spec()));
}
Values hsplit_at(Builder& b, const ops::hsplit_array<Call>& a) {
  return split_at(b, a, a.indices().dims(), horizontal(a.self().spec()));
}
template <int64_t Axis, class A>
Values split_along(Builder& b, const A& a) {
  return split_into(b, a, a.sections().integer(), Axis);
}
template <int64_t Axis, class A>
Values split_along_at(Builder& b, const A& a) {
  return split_at(b, a, a.indices().dims(), Axis);
}
Values split_sizes(Builder& b, const ops::split_sizes<Call>& a) {
  return b.call_all("aten.split_with_sizes.default", {a.self(), a.split_size(), a.dim()});
}
Values split_with_sizes(Builder& b, const ops::unsafe_split_with_sizes_default<Call>& a) {
  return b.call_all("aten.split_with_sizes.default", {a.self(), a.split_sizes(), a.dim()});
}

Values stack(Builder& b, const ops::stack_default<Call>& a) {
  const std::vector<ValueId> parts = a.tensors().ids();
  if (parts.empty()) return {};
  const TensorSpec first = b.spec(parts[0]);
  const size_t axis = a.axis(a.dim().integer(), first.rank() + 1);
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

// Each tensor's elements along a dimension of its own, expanded to the sizes of all others. "xy" lets the second
// tensor have the first dimension.
Values mesh(Builder& b, std::vector<ValueId> parts, bool is_xy) {
  const bool swaps = is_xy && parts.size() >= 2;
  if (swaps) std::swap(parts[0], parts[1]);
  Dims sizes;
  for (const ValueId part : parts) sizes.push_back(ir::numel(b.symbols(), b.spec(part).sizes));
  Values out;
  for (size_t i = 0; i < parts.size(); ++i) {
    Dims line(parts.size(), Dim(1));
    line[i] = sizes[i];
    const ValueId own = reshape(b, parts[i], std::move(line));
    out.push_back(b.call("aten.expand.default", {ValueRef{own}, Argument(sizes)}));
  }
  if (swaps) std::swap(out[0], out[1]);
  return out;
}

Values meshgrid(Builder& b, const ops::meshgrid_default<Call>& a) {
  return mesh(b, a.tensors().ids(), false);
}
Values meshgrid_indexing(Builder& b, const ops::meshgrid_indexing<Call>& a) {
  const std::string* indexing = a.indexing().find_text();
  return mesh(b, a.tensors().ids(), indexing != nullptr && *indexing == "xy");
}

// Prepends dimensions of size 1 to tensors of lower rank.
template <class A>
Values stack_along(Builder& b, const A& a, size_t least_rank, int64_t dim) {
  ir::ValueList parts;
  for (ValueId part : a.tensors().ids()) {
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
Values hstack(Builder& b, const ops::hstack_default<Call>& a) {
  const std::vector<ValueId> parts = a.tensors().ids();
  const bool are_lines = !parts.empty() && b.spec(parts[0]).rank() <= 1;
  return stack_along(b, a, 1, are_lines ? 0 : 1);
}
Values vstack(Builder& b, const ops::vstack_default<Call>& a) { return stack_along(b, a, 2, 0); }

// A list of tensors, each with at least the given number of dimensions.
template <size_t Rank, class A>
Values at_least_each(Builder& b, const A& a) {
  static constexpr std::string_view kOps[] = {"aten.atleast_1d.default", "aten.atleast_2d.default",
                                              "aten.atleast_3d.default"};
  Values out;
  for (const ValueId value : a.tensors().ids()) out.push_back(b.call(kOps[Rank - 1], {ValueRef{value}}));
  return out;
}
Values dstack(Builder& b, const ops::dstack_default<Call>& a) {
  ir::ValueList parts{at_least_each<3>(b, a)};
  return {b.call("aten.cat.default", {std::move(parts), Dim(2)})};
}
// Vectors become columns.
Values column_stack(Builder& b, const ops::column_stack_default<Call>& a) {
  ir::ValueList parts;
  for (const ValueId value : a.tensors().ids()) {
    const size_t rank = b.spec(value).rank();
    parts.ids.push_back(rank > 1 ? value : reshape(b, value, {Dim(-1), Dim(1)}));
  }
  return {b.call("aten.cat.default", {std::move(parts), Dim(1)})};
}

Values broadcast_tensors(Builder& b, const ops::broadcast_tensors_default<Call>& a) {
  Dims sizes;
  const std::vector<ValueId> parts = a.tensors().ids();
  for (const ValueId part : parts) sizes = infer::broadcast(a, sizes, sizes_of(b, part));
  Values out;
  for (const ValueId part : parts)
    out.push_back(b.call("aten.expand.default", {ValueRef{part}, Argument(sizes)}));
  return out;
}

// One row for each combination of one element per vector.
Values cartesian_prod(Builder& b, const ops::cartesian_prod_default<Call>& a) {
  const std::vector<ValueId> parts = a.tensors().ids();
  if (parts.size() == 1) return {parts[0]};
  ir::ValueList columns;
  for (const ValueId grid : b.call_all("aten.meshgrid.indexing", {ir::ValueList{parts}, std::string("ij")}))
    columns.ids.push_back(reshape(b, grid, {Dim(-1)}));
  return {b.call("aten.stack.default", {std::move(columns), Dim(1)})};
}

Values block_diag(Builder& b, const ops::block_diag_default<Call>& a) {
  Dim width = 0;
  std::vector<ValueId> blocks;
  for (const ValueId part : a.tensors().ids()) {
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

// Sequences of any length as rows of one tensor.
Values pad_sequence(Builder& b, const ops::pad_sequence_default<Call>& a) {
  const std::vector<ValueId> parts = a.sequences().ids();
  int64_t longest = 0;
  for (const ValueId part : parts) {
    const Dims sizes = sizes_of(b, part);
    if (sizes.empty() || !sizes[0].is_static()) return {};
    longest = std::max(longest, sizes[0].value());
  }
  const auto* side = a.padding_side().has_value() ? ir::get_if<std::string>(a.padding_side()) : nullptr;
  const bool is_left = side != nullptr && *side == "left";
  ir::ValueList rows;
  for (const ValueId part : parts) {
    const Dims sizes = sizes_of(b, part);
    Dims pad(2 * sizes.size(), Dim(0));
    pad[pad.size() - (is_left ? 2 : 1)] = Dim(longest - sizes[0].value());
    rows.ids.push_back(
        b.call("aten.constant_pad_nd.default", {ValueRef{part}, std::move(pad), a.padding_value()}));
  }
  return {b.call("aten.stack.default", {std::move(rows), Dim(a.batch_first() ? 0 : 1)})};
}

// Pads dimension `dim` of each tensor to whole chunks, and joins the chunks of the same number as rows:
// [..., num_chunks, all that follows].
Values chunk_cat(Builder& b, const ops::_chunk_cat_default<Call>& a) {
  const int64_t count = a.num_chunks().integer();
  constexpr int64_t kMaxChunks = int64_t{1} << 31;
  ir::ValueList parts;
  size_t axis = 0;
  for (const ValueId tensor : a.tensors().ids()) {
    const TensorSpec in = b.spec(tensor);
    axis = in.rank() == 0 ? 0 : a.axis(a.dim().integer(), in.rank());
    if (count < 1 || count > kMaxChunks || axis >= in.rank()) {
      a.fail(std::to_string(count) + " chunks of a tensor of rank " + std::to_string(in.rank()) +
             ", expected 1 to 2^31 and at least one dimension");
      return {};
    }
    ir::SymbolTable& symbols = b.symbols();
    const Dim chunk = symbols.floor_div(symbols.add(in.sizes[axis], count - 1), count);
    const Dim missing = symbols.sub(symbols.mul(chunk, count), in.sizes[axis]);
    Dims pad((in.rank() - axis) * 2, Dim(0));
    pad.back() = missing;
    const ValueId whole =
        missing.is(0) ? tensor
                      : b.call("aten.constant_pad_nd.default", {ValueRef{tensor}, std::move(pad), Dim(0)});
    Dims sizes(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    sizes.emplace_back(count);
    Dim rest = chunk;
    for (size_t i = axis + 1; i < in.rank(); ++i) rest = symbols.mul(rest, in.sizes[i]);
    sizes.push_back(rest);
    parts.ids.push_back(reshape(b, whole, std::move(sizes)));
  }
  return {b.call("aten.cat.default", {std::move(parts), Dim(static_cast<int64_t>(axis) + 1)})};
}

}  // namespace

std::span<const Decomposition> list_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_chunk_cat_default, chunk_cat>(),
      row<ops::atleast_1d_Sequence, at_least_each<1>>(),
      row<ops::atleast_2d_Sequence, at_least_each<2>>(),
      row<ops::atleast_3d_Sequence, at_least_each<3>>(),
      row<ops::block_diag_default, block_diag>(),
      row<ops::broadcast_tensors_default, broadcast_tensors>(),
      row<ops::cartesian_prod_default, cartesian_prod>(),
      row<ops::chunk_default, chunk>(),
      row<ops::column_stack_default, column_stack>(),
      row<ops::dsplit_array, split_along_at<2>>(),
      row<ops::dsplit_int, split_along<2>>(),
      row<ops::dstack_default, dstack>(),
      row<ops::hsplit_array, hsplit_at>(),
      row<ops::hsplit_int, hsplit>(),
      row<ops::hstack_default, hstack>(),
      row<ops::meshgrid_default, meshgrid>(),
      row<ops::meshgrid_indexing, meshgrid_indexing>(),
      row<ops::pad_sequence_default, pad_sequence>(),
      row<ops::split_Tensor, split>(),
      row<ops::split_sizes, split_sizes>(),
      row<ops::stack_default, stack>(),
      row<ops::tensor_split_indices, tensor_split_at>(),
      row<ops::tensor_split_sections, tensor_split>(),
      row<ops::unbind_int, unbind>(),
      row<ops::unsafe_chunk_default, chunk>(),
      row<ops::unsafe_split_Tensor, split>(),
      row<ops::unsafe_split_with_sizes_default, split_with_sizes>(),
      row<ops::vsplit_array, split_along_at<0>>(),
      row<ops::vsplit_int, split_along<0>>(),
      row<ops::vstack_default, vstack>(),
  };
  return kRows;
}

}  // namespace etb::passes
