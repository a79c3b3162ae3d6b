// SPDX-License-Identifier: Apache-2.0
// Views, copies and their many spellings.
#include <algorithm>
#include <numeric>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

ValueId reshape(Builder& b, ValueId value, Dims sizes) {
  const TensorSpec spec = b.spec(value);
  Dim known = 1;
  for (const Dim size : sizes) {
    if (!size.is(-1)) known = b.symbols().mul(known, size);
  }
  for (Dim& size : sizes) {
    if (size.is(-1))
      size = known.is(0) ? Dim(0) : b.symbols().floor_div(ir::numel(b.symbols(), spec.sizes), known);
  }
  if (!infer::try_view(b.symbols(), spec, sizes)) {
    value =
        b.call("aten.clone.default", {ValueRef{value}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
  }
  return b.call("aten.view.default", {ValueRef{value}, std::move(sizes)});
}

ValueId to_dtype(Builder& b, ValueId value, Dtype dtype) {
  if (b.spec(value).dtype == dtype) return value;
  return b.call("aten._to_copy.default", {ValueRef{value}}, {{"dtype", dtype}});
}

ValueId contiguous(Builder& b, ValueId value) {
  if (ir::is_contiguous(b.symbols(), b.spec(value))) return value;
  return b.call("aten.clone.default", {ValueRef{value}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
}

ValueId transpose(Builder& b, ValueId value, int64_t first, int64_t second) {
  const auto rank = static_cast<int64_t>(b.spec(value).rank());
  Dims order;
  for (int64_t i = 0; i < rank; ++i) order.emplace_back(i);
  if (rank > 0)
    std::swap(order[static_cast<size_t>((first + rank) % rank)],
              order[static_cast<size_t>((second + rank) % rank)]);
  return b.call("aten.permute.default", {ValueRef{value}, std::move(order)});
}

namespace {

Values identity(Builder&, const Arguments& a) { return {a.value(0)}; }
Values copied(Builder& b, const Arguments& a) { return {b.call("aten.clone.default", {a.ref(0)})}; }

Values transpose_two(Builder& b, const Arguments& a) {
  const size_t rank = a.tensor(0).rank();
  const size_t first = a.axis(a.integer(1), rank), second = a.axis(a.integer(2), rank);
  return {transpose(b, a.value(0), static_cast<int64_t>(first), static_cast<int64_t>(second))};
}
Values transpose_matrix(Builder& b, const Arguments& a) {
  if (a.tensor(0).rank() < 2) return {a.value(0)};
  return {transpose(b, a.value(0), 0, 1)};
}
Values transpose_last_two(Builder& b, const Arguments& a) { return {transpose(b, a.value(0), -2, -1)}; }

Values reshaped(Builder& b, const Arguments& a) { return {reshape(b, a.value(0), a.dims(1))}; }
Values view_as(Builder& b, const Arguments& a) { return {reshape(b, a.value(0), a.tensor(1).sizes)}; }
Values expand_as(Builder& b, const Arguments& a) {
  return {b.call("aten.expand.default", {a.ref(0), Argument(a.tensor(1).sizes)})};
}

Values flatten(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() == 0) return {b.call("aten.view.default", {a.ref(0), Dims{1}})};
  const size_t first = a.axis(a.integer(1), in.rank()), last = a.axis(a.integer(2), in.rank());
  if (first >= last) return {a.value(0)};
  Dims sizes(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  Dim joined = 1;
  for (size_t i = first; i <= last; ++i) joined = b.symbols().mul(joined, in.sizes[i]);
  sizes.push_back(joined);
  sizes.insert(sizes.end(), in.sizes.begin() + static_cast<std::ptrdiff_t>(last) + 1, in.sizes.end());
  return {reshape(b, a.value(0), std::move(sizes))};
}

Values unflatten(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() == 0) return {};
  const size_t axis = a.axis(a.integer(1), in.rank());
  Dims inner = a.dims(2);
  Dim known = 1;
  for (const Dim size : inner) {
    if (!size.is(-1)) known = b.symbols().mul(known, size);
  }
  for (Dim& size : inner) {
    if (size.is(-1)) size = b.symbols().floor_div(in.sizes[axis], known);
  }
  Dims sizes = in.sizes;
  const auto at = sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(at, inner.begin(), inner.end());
  return {b.call("aten.view.default", {a.ref(0), std::move(sizes)})};
}

// Which dimensions of size 1 fall away; dimensions of another size stay, as in PyTorch.
Values squeeze_all(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  Dims dims;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (in.sizes[i].is(1)) dims.emplace_back(static_cast<int64_t>(i));
  }
  return {b.call("aten.squeeze.dims", {a.ref(0), std::move(dims)})};
}
Values squeeze_one(Builder& b, const Arguments& a) {
  return {b.call("aten.squeeze.dims", {a.ref(0), Dims{a.dim(1)}})};
}

// A slice of everything is nothing.
Values slice_of_all(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const auto out = infer::infer(b.module(), b.graph(), b.module().op("aten.slice.Tensor"), a.arguments());
  if (out && out->front().sizes == in.sizes) return {a.value(0)};
  return {};
}
Values narrow(Builder& b, const Arguments& a) {
  const Dim end = b.symbols().add(a.dim(2), a.dim(3));
  return {b.call("aten.slice.Tensor", {a.ref(0), a.argument(1), a.dim(2), end})};
}

Values make_contiguous(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const auto format = a.memory_format(1).value_or(ir::MemoryFormat::kContiguous);
  const bool is_so = format == ir::MemoryFormat::kPreserve ||
                     (format == ir::MemoryFormat::kContiguous ? ir::is_contiguous(b.symbols(), in)
                                                              : ir::is_channels_last(b.symbols(), in));
  if (is_so) return {a.value(0)};
  return {b.call("aten.clone.default", {a.ref(0)}, {{"memory_format", format}})};
}

// All overloads of `to`: nothing when nothing changes, else one copy.
Values to_any(Builder& b, const Arguments& a, std::optional<Dtype> dtype, size_t copy_index,
              size_t format_index) {
  const TensorSpec in = a.tensor(0);
  const auto format = a.memory_format(format_index);
  const bool changes_format =
      (format == ir::MemoryFormat::kContiguous && !ir::is_contiguous(b.symbols(), in)) ||
      ((format == ir::MemoryFormat::kChannelsLast || format == ir::MemoryFormat::kChannelsLast3d) &&
       !ir::is_channels_last(b.symbols(), in));
  const bool changes_dtype = dtype && *dtype != in.dtype;
  if (!changes_dtype && !changes_format && !a.flag(copy_index)) return {a.value(0)};
  std::vector<Builder::Named> named;
  if (changes_dtype) named.push_back({"dtype", *dtype});
  if (format) named.push_back({"memory_format", *format});
  return {b.call("aten._to_copy.default", {a.ref(0)}, std::move(named))};
}
Values to_dtype_overload(Builder& b, const Arguments& a) { return to_any(b, a, a.dtype(1), 3, 4); }
Values to_dtype_layout(Builder& b, const Arguments& a) { return to_any(b, a, a.dtype(1), 6, 7); }
Values to_device(Builder& b, const Arguments& a) { return to_any(b, a, a.dtype(2), 4, 5); }
Values to_other(Builder& b, const Arguments& a) { return to_any(b, a, a.tensor(1).dtype, 3, 4); }
Values type_as(Builder& b, const Arguments& a) { return {to_dtype(b, a.value(0), a.tensor(1).dtype)}; }

Values pixel_shuffle(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const int64_t factor = a.integer(1);
  if (in.rank() < 3 || factor <= 0) return {};
  ir::SymbolTable& symbols = b.symbols();
  const auto batch = static_cast<std::ptrdiff_t>(in.rank() - 3);
  const Dim channels = symbols.floor_div(in.sizes[in.rank() - 3], factor * factor);
  const Dim height = in.sizes[in.rank() - 2], width = in.sizes[in.rank() - 1];
  Dims split_sizes(in.sizes.begin(), in.sizes.begin() + batch), sizes = split_sizes;
  split_sizes.insert(split_sizes.end(), {channels, Dim(factor), Dim(factor), height, width});
  sizes.insert(sizes.end(), {channels, symbols.mul(height, factor), symbols.mul(width, factor)});
  Dims order;
  for (int64_t i = 0; i < batch; ++i) order.emplace_back(i);
  for (const int64_t i : {0, 3, 1, 4, 2}) order.emplace_back(batch + i);
  const ValueId cut = b.call("aten.view.default", {a.ref(0), std::move(split_sizes)});
  const ValueId turned = b.call("aten.permute.default", {ValueRef{cut}, std::move(order)});
  const ValueId joined = reshape(b, turned, std::move(sizes));
  return {
      b.call("aten.clone.default", {ValueRef{joined}}, {{"memory_format", ir::MemoryFormat::kContiguous}})};
}

Values move_axes(Builder& b, const Arguments& a) {
  const auto rank = a.tensor(0).rank();
  const Dims from = a.dims(1), to = a.dims(2);
  std::vector<int64_t> order(rank, -1);
  std::vector<bool> is_moved(rank, false);
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    const size_t source = a.axis(from[i].value(), rank), target = a.axis(to[i].value(), rank);
    if (source >= rank || target >= rank) return {};
    order[target] = static_cast<int64_t>(source);
    is_moved[source] = true;
  }
  size_t next = 0;
  Dims dims;
  for (const int64_t source : order) {
    if (source >= 0) {
      dims.emplace_back(source);
      continue;
    }
    while (is_moved[next]) ++next;
    dims.emplace_back(static_cast<int64_t>(next++));
  }
  return {b.call("aten.permute.default", {a.ref(0), std::move(dims)})};
}

Values tile(Builder& b, const Arguments& a) {
  Dims counts = a.dims(1);
  while (counts.size() < a.tensor(0).rank()) counts.insert(counts.begin(), Dim(1));
  return {b.call("aten.repeat.default", {a.ref(0), std::move(counts)})};
}

Values raveled(Builder& b, const Arguments& a) { return {reshape(b, a.value(0), {Dim(-1)})}; }

// Behind one dimension a third is added, as NumPy does.
ValueId with_rank(Builder& b, ValueId value, size_t least) {
  Dims sizes = sizes_of(b, value);
  if (sizes.size() >= least) return value;
  const bool adds_behind = least == 3 && !sizes.empty();
  if (adds_behind) sizes.emplace_back(1);
  sizes.insert(sizes.begin(), least - sizes.size(), Dim(1));
  return b.call("aten.view.default", {ValueRef{value}, std::move(sizes)});
}
template <size_t Rank>
Values at_least(Builder& b, const Arguments& a) {
  return {with_rank(b, a.value(0), Rank)};
}

// self, groups
Values channel_shuffle(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const int64_t groups = a.integer(1);
  if (in.rank() < 3 || groups <= 0) return {};
  Dims sizes = in.sizes;
  sizes[1] = b.symbols().floor_div(in.sizes[1], groups);
  sizes.insert(sizes.begin() + 1, Dim(groups));
  const ValueId cut = reshape(b, a.value(0), std::move(sizes));
  return {reshape(b, transpose(b, cut, 1, 2), in.sizes)};
}

// self, k, dims: quarter turns from the first dimension towards the second.
Values rotate(Builder& b, const Arguments& a) {
  const Dims dims = a.dims(2);
  if (dims.size() != 2 || !dims[0].is_static() || !dims[1].is_static()) return {};
  const int64_t turns = ((a.integer(1) % 4) + 4) % 4, first = dims[0].value(), second = dims[1].value();
  const auto flip = [&](ValueId value, Dims axes) {
    return b.call("aten.flip.default", {ValueRef{value}, std::move(axes)});
  };
  switch (turns) {
    case 0:
      return {b.call("aten.clone.default", {a.ref(0)})};
    case 1:
      return {transpose(b, flip(a.value(0), {dims[1]}), first, second)};
    case 2:
      return {flip(a.value(0), dims)};
    default:
      return {flip(transpose(b, a.value(0), first, second), {dims[1]})};
  }
}

// The last dimension of `value` laid along a diagonal of two new last dimensions.
ValueId lay_diagonal(Builder& b, ValueId value, int64_t offset) {
  const Dim length = sizes_of(b, value).back();
  const Dim side = b.symbols().add(length, std::abs(offset));
  const auto line = [&] {
    return b.call("aten.arange.start_step", {Dim(0), side},
                  {{"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}, {"pin_memory", false}});
  };
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{line()}, Dim(1)});
  const ValueId shifted = b.call("aten.add.Scalar", {ValueRef{column}, Dim(offset)});
  const ValueId is_on = b.call("aten.eq.Tensor", {ValueRef{shifted}, ValueRef{line()}});
  // Above the main diagonal the element's row counts, below it its column.
  const Dims pad = offset >= 0 ? Dims{Dim(0), Dim(offset)} : Dims{Dim(0), Dim(-offset)};
  const ValueId padded = b.call("aten.constant_pad_nd.default", {ValueRef{value}, Argument(pad), Dim(0)});
  const ValueId wide = b.call("aten.unsqueeze.default", {ValueRef{padded}, Dim(offset >= 0 ? -1 : -2)});
  return b.call("aten.where.ScalarOther", {ValueRef{is_on}, ValueRef{wide}, Dim(0)});
}

// self, offset, dim1, dim2
Values diag_embed(Builder& b, const Arguments& a) {
  const size_t rank = a.tensor(0).rank() + 1;
  if (rank < 2) return {};
  const size_t first = a.axis(a.integer(2), rank), second = a.axis(a.integer(3), rank);
  if (first >= rank || second >= rank || first == second) return {};
  const int64_t offset = first < second ? a.integer(1) : -a.integer(1);
  const ValueId laid = lay_diagonal(b, a.value(0), offset);
  const size_t low = std::min(first, second), high = std::max(first, second);
  if (low + 2 == rank) return {laid};
  Dims order;
  int64_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    order.emplace_back(i == low    ? static_cast<int64_t>(rank) - 2
                       : i == high ? static_cast<int64_t>(rank) - 1
                                   : next++);
  }
  return {b.call("aten.permute.default", {ValueRef{laid}, std::move(order)})};
}
// self, diagonal: a vector becomes a matrix, of a matrix the diagonal is taken.
Values diag(Builder& b, const Arguments& a) {
  if (a.tensor(0).rank() == 1) return {lay_diagonal(b, a.value(0), a.integer(1))};
  return {b.call("aten.diagonal.default", {a.ref(0), a.argument(1)})};
}
Values diagflat(Builder& b, const Arguments& a) {
  return {lay_diagonal(b, reshape(b, a.value(0), {Dim(-1)}), a.integer(1))};
}

// self, size: the opposite of a broadcast.
Values sum_to_size(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const Dims sizes = a.dims(1);
  if (sizes.size() > in.rank()) return {};
  const size_t lead = in.rank() - sizes.size();
  Dims summed;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (i < lead || (sizes[i - lead].is(1) && !in.sizes[i].is(1)))
      summed.emplace_back(static_cast<int64_t>(i));
  }
  if (summed.empty()) return {a.value(0)};
  const ValueId sum = b.call("aten.sum.dim_IntList", {a.ref(0), std::move(summed), true});
  return {lead == 0 ? sum : b.call("aten.view.default", {ValueRef{sum}, Argument(sizes)})};
}

}  // namespace

std::span<const Decomposition> view_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten._unsafe_view.default", reshaped},
      {"aten.alias.default", identity},
      {"aten.atleast_1d.default", at_least<1>},
      {"aten.atleast_2d.default", at_least<2>},
      {"aten.atleast_3d.default", at_least<3>},
      {"aten.channel_shuffle.default", channel_shuffle},
      {"aten.contiguous.default", make_contiguous},
      {"aten.detach.default", identity},
      {"aten.detach_.default", identity},
      {"aten.diag.default", diag},
      {"aten.diag_embed.default", diag_embed},
      {"aten.diagflat.default", diagflat},
      {"aten.expand_as.default", expand_as},
      {"aten.flatten.using_ints", flatten},
      {"aten.lift_fresh.default", identity},
      {"aten.lift_fresh_copy.default", copied},
      {"aten.mT.default", transpose_last_two},
      {"aten.moveaxis.int", move_axes},
      {"aten.moveaxis.intlist", move_axes},
      {"aten.movedim.int", move_axes},
      {"aten.movedim.intlist", move_axes},
      {"aten.narrow.default", narrow},
      {"aten.native_channel_shuffle.default", channel_shuffle},
      {"aten.numpy_T.default", transpose_matrix},
      {"aten.pixel_shuffle.default", pixel_shuffle},
      {"aten.positive.default", identity},
      {"aten.ravel.default", raveled},
      {"aten.reshape.default", reshaped},
      {"aten.reshape_as.default", view_as},
      {"aten.rot90.default", rotate},
      {"aten.slice.Tensor", slice_of_all},
      {"aten.squeeze.default", squeeze_all},
      {"aten.squeeze.dim", squeeze_one},
      {"aten.sum_to_size.default", sum_to_size},
      {"aten.t.default", transpose_matrix},
      {"aten.tile.default", tile},
      {"aten.to.device", to_device},
      {"aten.to.dtype", to_dtype_overload},
      {"aten.to.dtype_layout", to_dtype_layout},
      {"aten.to.other", to_other},
      {"aten.transpose.int", transpose_two},
      {"aten.type_as.default", type_as},
      {"aten.unflatten.int", unflatten},
      {"aten.view_as.default", view_as},
  };
  return kRows;
}

}  // namespace etb::passes
