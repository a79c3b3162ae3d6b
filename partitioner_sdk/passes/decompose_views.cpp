// SPDX-License-Identifier: Apache-2.0
// Views and copies, in their many spellings.
#include <algorithm>
#include <numeric>

#include "api/ops/sizes/view.hpp"
#include "ops/_unsafe_view.hpp"
#include "ops/alias.hpp"
#include "ops/atleast_1d.hpp"
#include "ops/atleast_2d.hpp"
#include "ops/atleast_3d.hpp"
#include "ops/channel_shuffle.hpp"
#include "ops/conj.hpp"
#include "ops/conj_physical.hpp"
#include "ops/contiguous.hpp"
#include "ops/detach.hpp"
#include "ops/diag.hpp"
#include "ops/diag_embed.hpp"
#include "ops/diagflat.hpp"
#include "ops/expand_as.hpp"
#include "ops/fft_fftshift.hpp"
#include "ops/fft_ifftshift.hpp"
#include "ops/flatten.hpp"
#include "ops/lift_fresh.hpp"
#include "ops/lift_fresh_copy.hpp"
#include "ops/mT.hpp"
#include "ops/moveaxis.hpp"
#include "ops/movedim.hpp"
#include "ops/narrow.hpp"
#include "ops/native_channel_shuffle.hpp"
#include "ops/numpy_T.hpp"
#include "ops/pixel_shuffle.hpp"
#include "ops/positive.hpp"
#include "ops/ravel.hpp"
#include "ops/reshape.hpp"
#include "ops/reshape_as.hpp"
#include "ops/resize.hpp"
#include "ops/resize_as.hpp"
#include "ops/resolve_conj.hpp"
#include "ops/resolve_neg.hpp"
#include "ops/rot90.hpp"
#include "ops/slice.hpp"
#include "ops/squeeze.hpp"
#include "ops/sum_to_size.hpp"
#include "ops/t.hpp"
#include "ops/tile.hpp"
#include "ops/to.hpp"
#include "ops/transpose.hpp"
#include "ops/type_as.hpp"
#include "ops/unflatten.hpp"
#include "ops/view_as.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// Sizes that do not fit stay as they are: inference rejects them at the node that gets them.
void fill_open_size(Builder& b, Dim numel, Dims& sizes) {
  infer::Formulas formulas(b.symbols());
  size_t index = 0;
  static_cast<void>(ops::fill_open_size(formulas, numel, sizes, &index));
}

}  // namespace

ValueId reshape(Builder& b, ValueId value, Dims sizes) {
  const TensorSpec spec = b.spec(value);
  fill_open_size(b, ir::numel(b.symbols(), spec.sizes), sizes);
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

int64_t diagonal_offset(const Call& a, const infer::IntArgument& offset) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  const int64_t number = offset.integer();
  if (number >= -kLimit && number <= kLimit) return number;
  a.fail("offset " + std::to_string(number) + " of a diagonal, expected at most 2^40 in magnitude");
  return 0;
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

template <class A>
Values identity(Builder&, const A& a) {
  return {a.self()};
}
Values copied(Builder& b, const ops::lift_fresh_copy_default<Call>& a) {
  return {b.call("aten.clone.default", {a.self()})};
}

Values transpose_two(Builder& b, const ops::transpose_int<Call>& a) {
  const size_t rank = a.self().spec().rank();
  const size_t first = a.axis(a.dim0().integer(), rank), second = a.axis(a.dim1().integer(), rank);
  return {transpose(b, a.self(), static_cast<int64_t>(first), static_cast<int64_t>(second))};
}
template <class A>
Values transpose_matrix(Builder& b, const A& a) {
  if (a.self().spec().rank() < 2) return {a.self()};
  return {transpose(b, a.self(), 0, 1)};
}
Values transpose_last_two(Builder& b, const ops::mT_default<Call>& a) {
  return {transpose(b, a.self(), -2, -1)};
}

Values reshaped(Builder& b, const ops::reshape_default<Call>& a) {
  return {reshape(b, a.self(), a.shape().dims())};
}
Values unsafe_view(Builder& b, const ops::_unsafe_view_default<Call>& a) {
  return {reshape(b, a.self(), a.size().dims())};
}
template <class A>
Values view_as(Builder& b, const A& a) {
  return {reshape(b, a.self(), a.other().spec().sizes)};
}
Values expand_as(Builder& b, const ops::expand_as_default<Call>& a) {
  return {b.call("aten.expand.default", {a.self(), Argument(a.other().spec().sizes)})};
}

Values flatten(Builder& b, const ops::flatten_using_ints<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (in.rank() == 0) return {b.call("aten.view.default", {a.self(), Dims{1}})};
  const size_t first = a.axis(a.start_dim().integer(), in.rank()),
               last = a.axis(a.end_dim().integer(), in.rank());
  if (first >= last) return {a.self()};
  Dims sizes(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  Dim joined = 1;
  for (size_t i = first; i <= last; ++i) joined = b.symbols().mul(joined, in.sizes[i]);
  sizes.push_back(joined);
  sizes.insert(sizes.end(), in.sizes.begin() + static_cast<std::ptrdiff_t>(last) + 1, in.sizes.end());
  return {reshape(b, a.self(), std::move(sizes))};
}

Values unflatten(Builder& b, const ops::unflatten_int<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (in.rank() == 0) return {};
  const size_t axis = a.axis(a.dim().integer(), in.rank());
  Dims inner = a.sizes().dims();
  fill_open_size(b, in.sizes[axis], inner);
  Dims sizes = in.sizes;
  const auto at = sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(at, inner.begin(), inner.end());
  return {b.call("aten.view.default", {a.self(), std::move(sizes)})};
}

// Returns the dimensions of size 1 that are removed; others stay, as in PyTorch.
Values squeeze_all(Builder& b, const ops::squeeze_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  Dims dims;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (in.sizes[i].is(1)) dims.emplace_back(static_cast<int64_t>(i));
  }
  return {b.call("aten.squeeze.dims", {a.self(), std::move(dims)})};
}
Values squeeze_one(Builder& b, const ops::squeeze_dim<Call>& a) {
  return {b.call("aten.squeeze.dims", {a.self(), Dims{a.dim().dim()}})};
}

// A slice of the whole dimension adds no node.
Values slice_of_all(Builder& b, const ops::slice_Tensor<Call>& a) {
  const TensorSpec in = a.self().spec();
  const auto out = infer::infer(b.module(), b.graph(), b.module().op("aten.slice.Tensor"), a.arguments());
  if (out && out->front().sizes == in.sizes) return {a.self()};
  return {};
}
Values narrow(Builder& b, const ops::narrow_default<Call>& a) {
  const Dim end = b.symbols().add(a.start().dim(), a.length().dim());
  return {b.call("aten.slice.Tensor", {a.self(), a.dim(), a.start().dim(), end})};
}

Values make_contiguous(Builder& b, const ops::contiguous_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const auto format = a.memory_format().format().value_or(ir::MemoryFormat::kContiguous);
  const bool is_so = format == ir::MemoryFormat::kPreserve ||
                     (format == ir::MemoryFormat::kContiguous ? ir::is_contiguous(b.symbols(), in)
                                                              : ir::is_channels_last(b.symbols(), in));
  if (is_so) return {a.self()};
  return {b.call("aten.clone.default", {a.self()}, {{"memory_format", format}})};
}

// All overloads of `to`: no node when nothing changes, else one copy.
template <class A>
Values to_any(Builder& b, const A& a, std::optional<Dtype> dtype) {
  const TensorSpec in = a.self().spec();
  const auto format = a.memory_format().format();
  const bool changes_format =
      (format == ir::MemoryFormat::kContiguous && !ir::is_contiguous(b.symbols(), in)) ||
      ((format == ir::MemoryFormat::kChannelsLast || format == ir::MemoryFormat::kChannelsLast3d) &&
       !ir::is_channels_last(b.symbols(), in));
  const bool changes_dtype = dtype && *dtype != in.dtype;
  if (!changes_dtype && !changes_format && !a.copy()) return {a.self()};
  std::vector<Builder::Named> named;
  if (changes_dtype) named.push_back({"dtype", *dtype});
  if (format) named.push_back({"memory_format", *format});
  return {b.call("aten._to_copy.default", {a.self()}, std::move(named))};
}
Values to_dtype_overload(Builder& b, const ops::to_dtype<Call>& a) { return to_any(b, a, a.dtype().value()); }
Values to_dtype_layout(Builder& b, const ops::to_dtype_layout<Call>& a) {
  return to_any(b, a, a.dtype().value());
}
Values to_device(Builder& b, const ops::to_device<Call>& a) { return to_any(b, a, a.dtype().value()); }
Values to_other(Builder& b, const ops::to_other<Call>& a) { return to_any(b, a, a.other().spec().dtype); }
Values type_as(Builder& b, const ops::type_as_default<Call>& a) {
  return {to_dtype(b, a.self(), a.other().spec().dtype)};
}

Values pixel_shuffle(Builder& b, const ops::pixel_shuffle_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const int64_t factor = a.upscale_factor().integer();
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
  const ValueId cut = b.call("aten.view.default", {a.self(), std::move(split_sizes)});
  const ValueId turned = b.call("aten.permute.default", {ValueRef{cut}, std::move(order)});
  const ValueId joined = reshape(b, turned, std::move(sizes));
  return {
      b.call("aten.clone.default", {ValueRef{joined}}, {{"memory_format", ir::MemoryFormat::kContiguous}})};
}

template <class A>
Values move_axes(Builder& b, const A& a) {
  const auto rank = a.self().spec().rank();
  const Dims from = a.source().dims(), to = a.destination().dims();
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
  return {b.call("aten.permute.default", {a.self(), std::move(dims)})};
}

Values tile(Builder& b, const ops::tile_default<Call>& a) {
  Dims counts = a.dims().dims();
  while (counts.size() < a.self().spec().rank()) counts.insert(counts.begin(), Dim(1));
  return {b.call("aten.repeat.default", {a.self(), std::move(counts)})};
}

Values raveled(Builder& b, const ops::ravel_default<Call>& a) { return {reshape(b, a.self(), {Dim(-1)})}; }

// A third dimension is appended, all others are prepended, as in NumPy.
ValueId with_rank(Builder& b, ValueId value, size_t least) {
  Dims sizes = sizes_of(b, value);
  if (sizes.size() >= least) return value;
  const bool adds_behind = least == 3 && !sizes.empty();
  if (adds_behind) sizes.emplace_back(1);
  sizes.insert(sizes.begin(), least - sizes.size(), Dim(1));
  return b.call("aten.view.default", {ValueRef{value}, std::move(sizes)});
}
template <size_t Rank, class A>
Values at_least(Builder& b, const A& a) {
  return {with_rank(b, a.self(), Rank)};
}

template <class A>
Values channel_shuffle(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const int64_t groups = a.groups().integer();
  if (in.rank() < 3 || groups <= 0) return {};
  Dims sizes = in.sizes;
  sizes[1] = b.symbols().floor_div(in.sizes[1], groups);
  sizes.insert(sizes.begin() + 1, Dim(groups));
  const ValueId cut = reshape(b, a.self(), std::move(sizes));
  return {reshape(b, transpose(b, cut, 1, 2), in.sizes)};
}

// Quarter turns from the first dimension towards the second.
Values rotate(Builder& b, const ops::rot90_default<Call>& a) {
  const Dims dims = a.dims().dims();
  if (dims.size() != 2 || !dims[0].is_static() || !dims[1].is_static()) return {};
  const int64_t turns = ((a.k().integer() % 4) + 4) % 4, first = dims[0].value(), second = dims[1].value();
  const auto flip = [&](ValueId value, Dims axes) {
    return b.call("aten.flip.default", {ValueRef{value}, std::move(axes)});
  };
  switch (turns) {
    case 0:
      return {b.call("aten.clone.default", {a.self()})};
    case 1:
      return {transpose(b, flip(a.self(), {dims[1]}), first, second)};
    case 2:
      return {flip(a.self(), dims)};
    default:
      return {flip(transpose(b, a.self(), first, second), {dims[1]})};
  }
}

// Places the last dimension of `value` on a diagonal of two new last dimensions.
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
  // Above the main diagonal the row is the index, below it the column.
  const Dims pad = offset >= 0 ? Dims{Dim(0), Dim(offset)} : Dims{Dim(0), Dim(-offset)};
  const Argument zero = ops::is_bool(b.spec(value).dtype) ? Argument(false) : Argument(Dim(0));
  const ValueId padded = b.call("aten.constant_pad_nd.default", {ValueRef{value}, Argument(pad), zero});
  const ValueId wide = b.call("aten.unsqueeze.default", {ValueRef{padded}, Dim(offset >= 0 ? -1 : -2)});
  return b.call("aten.where.ScalarOther", {ValueRef{is_on}, ValueRef{wide}, zero});
}

Values diag_embed(Builder& b, const ops::diag_embed_default<Call>& a) {
  const size_t rank = a.self().spec().rank() + 1;
  if (rank < 2) return {};
  const size_t first = a.axis(a.dim1().integer(), rank), second = a.axis(a.dim2().integer(), rank);
  if (first >= rank || second >= rank || first == second) return {};
  const int64_t offset = first < second ? diagonal_offset(a, a.offset()) : -diagonal_offset(a, a.offset());
  const ValueId laid = lay_diagonal(b, a.self(), offset);
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
// Rolls by half of each dimension, so that the middle comes first, or back.
template <bool is_back, class A>
Values fft_shift(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  Dims dims = a.dim().has_value() ? a.dim().dims() : Dims{}, shifts;
  if (!a.dim().has_value())
    for (size_t i = 0; i < in.rank(); ++i) dims.emplace_back(static_cast<int64_t>(i));
  for (const Dim dim : dims) {
    const size_t axis = a.axis(dim.value(), in.rank());
    if (axis >= in.rank()) return {};
    const Dim size = is_back ? b.symbols().add(in.sizes[axis], 1) : in.sizes[axis];
    shifts.push_back(b.symbols().floor_div(size, 2));
  }
  return {b.call("aten.roll.default", {a.self(), std::move(shifts), std::move(dims)})};
}

// A vector becomes a matrix with that diagonal; a matrix becomes its diagonal.
Values diag(Builder& b, const ops::diag_default<Call>& a) {
  if (a.self().spec().rank() == 1) return {lay_diagonal(b, a.self(), diagonal_offset(a, a.diagonal()))};
  return {b.call("aten.diagonal.default", {a.self(), a.diagonal()})};
}
Values diagflat(Builder& b, const ops::diagflat_default<Call>& a) {
  return {lay_diagonal(b, reshape(b, a.self(), {Dim(-1)}), diagonal_offset(a, a.offset()))};
}

// The inverse of a broadcast: a sum.
Values sum_to_size(Builder& b, const ops::sum_to_size_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const Dims sizes = a.size().dims();
  if (sizes.size() > in.rank()) return {};
  if (sizes.empty()) return {b.call("aten.sum.default", {a.self()})};  // promotes, even one number
  const size_t lead = in.rank() - sizes.size();
  Dims summed;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (i < lead || (sizes[i - lead].is(1) && !in.sizes[i].is(1)))
      summed.emplace_back(static_cast<int64_t>(i));
  }
  if (summed.empty()) return {a.self()};
  const ValueId sum = b.call("aten.sum.dim_IntList", {a.self(), std::move(summed), true});
  return {lead == 0 ? sum : b.call("aten.view.default", {ValueRef{sum}, Argument(sizes)})};
}

// The first elements in other sizes. More elements than there are would be memory that nothing wrote.
template <class A>
Values resized(Builder& b, const A& a, Dims sizes) {
  const TensorSpec in = a.self().spec();
  const Dim count = ir::numel(b.symbols(), sizes), own = ir::numel(b.symbols(), in.sizes);
  const auto format = a.memory_format().format();
  const bool is_plain =
      !format || *format == ir::MemoryFormat::kContiguous || *format == ir::MemoryFormat::kPreserve;
  if (!count.is_static() || !own.is_static() || count.value() > own.value() || !is_plain ||
      !ir::is_contiguous(b.symbols(), in)) {
    a.fail("a resize to " + b.symbols().format(count) + " elements of " + b.symbols().format(own) +
           ", expected no more of a contiguous tensor");
    return {};
  }
  const ValueId line = reshape(b, a.self(), {own});
  const ValueId part = b.call("aten.slice.Tensor", {ValueRef{line}, Dim(0), Dim(0), count});
  return {reshape(b, part, std::move(sizes))};
}
Values resize(Builder& b, const ops::resize_default<Call>& a) { return resized(b, a, a.size().dims()); }
Values resize_as(Builder& b, const ops::resize_as_default<Call>& a) {
  return resized(b, a, a.the_template().spec().sizes);
}

}  // namespace

std::span<const Decomposition> view_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_unsafe_view_default, unsafe_view>(),
      row<ops::alias_default, identity>(),
      row<ops::atleast_1d_default, at_least<1>>(),
      row<ops::atleast_2d_default, at_least<2>>(),
      row<ops::atleast_3d_default, at_least<3>>(),
      row<ops::channel_shuffle_default, channel_shuffle>(),
      row<ops::conj_default, identity>(),
      row<ops::conj_physical_default, identity>(),
      row<ops::contiguous_default, make_contiguous>(),
      row<ops::detach_default, identity>(),
      row<ops::detach_in_place_default, identity>(),
      row<ops::diag_default, diag>(),
      row<ops::diag_embed_default, diag_embed>(),
      row<ops::diagflat_default, diagflat>(),
      row<ops::expand_as_default, expand_as>(),
      row<ops::fft_fftshift_default, fft_shift<false, ops::fft_fftshift_default<Call>>>(),
      row<ops::fft_ifftshift_default, fft_shift<true, ops::fft_ifftshift_default<Call>>>(),
      row<ops::flatten_using_ints, flatten>(),
      row<ops::lift_fresh_default, identity>(),
      row<ops::lift_fresh_copy_default, copied>(),
      row<ops::mT_default, transpose_last_two>(),
      row<ops::moveaxis_int, move_axes>(),
      row<ops::moveaxis_intlist, move_axes>(),
      row<ops::movedim_int, move_axes>(),
      row<ops::movedim_intlist, move_axes>(),
      row<ops::narrow_default, narrow>(),
      row<ops::native_channel_shuffle_default, channel_shuffle>(),
      row<ops::numpy_T_default, transpose_matrix>(),
      row<ops::pixel_shuffle_default, pixel_shuffle>(),
      row<ops::positive_default, identity>(),
      row<ops::ravel_default, raveled>(),
      row<ops::reshape_default, reshaped>(),
      row<ops::reshape_as_default, view_as>(),
      row<ops::resize_default, resize>(),
      row<ops::resize_as_default, resize_as>(),
      row<ops::resolve_conj_default, identity>(),
      row<ops::resolve_neg_default, identity>(),
      row<ops::rot90_default, rotate>(),
      row<ops::slice_Tensor, slice_of_all>(),
      row<ops::squeeze_default, squeeze_all>(),
      row<ops::squeeze_dim, squeeze_one>(),
      row<ops::sum_to_size_default, sum_to_size>(),
      row<ops::t_default, transpose_matrix>(),
      row<ops::tile_default, tile>(),
      row<ops::to_device, to_device>(),
      row<ops::to_dtype, to_dtype_overload>(),
      row<ops::to_dtype_layout, to_dtype_layout>(),
      row<ops::to_other, to_other>(),
      row<ops::transpose_int, transpose_two>(),
      row<ops::type_as_default, type_as>(),
      row<ops::unflatten_int, unflatten>(),
      row<ops::view_as_default, view_as>(),
  };
  return kRows;
}

}  // namespace etb::passes
