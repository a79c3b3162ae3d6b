// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/passes/view_inverses.hpp"

#include <algorithm>

#include "ops/_reshape_alias.hpp"
#include "ops/_unsafe_view.hpp"
#include "ops/alias.hpp"
#include "ops/as_strided.hpp"
#include "ops/chunk.hpp"
#include "ops/contiguous.hpp"
#include "ops/detach.hpp"
#include "ops/diagonal.hpp"
#include "ops/expand.hpp"
#include "ops/flatten.hpp"
#include "ops/lift_fresh.hpp"
#include "ops/mT.hpp"
#include "ops/narrow.hpp"
#include "ops/numpy_T.hpp"
#include "ops/permute.hpp"
#include "ops/ravel.hpp"
#include "ops/reshape.hpp"
#include "ops/reshape_as.hpp"
#include "ops/select.hpp"
#include "ops/slice.hpp"
#include "ops/split.hpp"
#include "ops/split_with_sizes.hpp"
#include "ops/squeeze.hpp"
#include "ops/swapaxes.hpp"
#include "ops/swapdims.hpp"
#include "ops/t.hpp"
#include "ops/to.hpp"
#include "ops/transpose.hpp"
#include "ops/type_as.hpp"
#include "ops/unbind.hpp"
#include "ops/unflatten.hpp"
#include "ops/unsqueeze.hpp"
#include "ops/view.hpp"
#include "ops/view_as.hpp"

namespace etb::passes {

namespace {

// The view is its parent, unchanged.
template <class A>
ValueId same(Builder&, const A&, const ViewWrite& write) {
  return write.value;
}

// The view has all elements of its parent, in order.
template <class A>
ValueId resize(Builder& b, const A&, const ViewWrite& write) {
  return b.call("aten.view.default", {ValueRef{write.value}, Argument(b.spec(write.parent).sizes)});
}

// Writes into an expanded dimension would reach one element from several places, which PyTorch rejects.
ValueId unexpand(Builder& b, const ops::expand_default<Call>& a, const ViewWrite& write) {
  if (b.spec(write.parent).sizes != b.spec(write.value).sizes)
    a.fail("an expanded dimension has several places for one element");
  return write.value;
}

ValueId unselect(Builder& b, const ops::select_int<Call>& a, const ViewWrite& write) {
  return b.call("aten.select_scatter.default",
                {ValueRef{write.parent}, ValueRef{write.value}, a.dim(), a.index()});
}
ValueId unslice(Builder& b, const ops::slice_Tensor<Call>& a, const ViewWrite& write) {
  return b.call("aten.slice_scatter.default",
                {ValueRef{write.parent}, ValueRef{write.value}, a.dim(), a.start(), a.end(), a.step()});
}

ValueId unnarrow(Builder& b, const ops::narrow_default<Call>& a, const ViewWrite& write) {
  const Dim start = a.start().dim();
  return b.call("aten.slice_scatter.default", {ValueRef{write.parent}, ValueRef{write.value}, a.dim(), start,
                                               b.symbols().add(start, a.length().dim())});
}
ValueId undiagonal(Builder& b, const ops::diagonal_default<Call>& a, const ViewWrite& write) {
  return b.call("aten.diagonal_scatter.default",
                {ValueRef{write.parent}, ValueRef{write.value}, a.offset(), a.dim1(), a.dim2()});
}
ValueId unstride(Builder& b, const ops::as_strided_default<Call>& a, const ViewWrite& write) {
  return b.call("aten.as_strided_scatter.default",
                {ValueRef{write.parent}, ValueRef{write.value}, a.size(), a.stride(), a.storage_offset()});
}
ValueId unbind(Builder& b, const ops::unbind_int<Call>& a, const ViewWrite& write) {
  const auto part = std::find(write.results.begin(), write.results.end(), write.written);
  return b.call("aten.select_scatter.default",
                {ValueRef{write.parent}, ValueRef{write.value}, a.dim(), Dim(part - write.results.begin())});
}

template <class A>
ValueId swap_back(Builder& b, const A&, const ViewWrite& write, const Argument& first,
                  const Argument& second) {
  return b.call("aten.transpose.int", {ValueRef{write.value}, first, second});
}
ValueId swap_axes_back(Builder& b, const ops::swapaxes_default<Call>& a, const ViewWrite& write) {
  return swap_back(b, a, write, a.axis0(), a.axis1());
}
ValueId swap_dims_back(Builder& b, const ops::swapdims_default<Call>& a, const ViewWrite& write) {
  return swap_back(b, a, write, a.dim0(), a.dim1());
}
ValueId transpose_matrices(Builder& b, const ops::mT_default<Call>& a, const ViewWrite& write) {
  return swap_back(b, a, write, Dim(-2), Dim(-1));
}
ValueId reverse_axes(Builder& b, const ops::numpy_T_default<Call>&, const ViewWrite& write) {
  Dims order;
  for (size_t rank = b.spec(write.value).rank(); rank != 0; --rank)
    order.emplace_back(static_cast<int64_t>(rank - 1));
  return b.call("aten.permute.default", {ValueRef{write.value}, std::move(order)});
}

ValueId transpose_back(Builder& b, const ops::transpose_int<Call>& a, const ViewWrite& write) {
  return b.call("aten.transpose.int", {ValueRef{write.value}, a.dim0(), a.dim1()});
}
ValueId transpose_matrix(Builder& b, const ops::t_default<Call>&, const ViewWrite& write) {
  return b.call("aten.t.default", {ValueRef{write.value}});
}
ValueId unpermute(Builder& b, const ops::permute_default<Call>& a, const ViewWrite& write) {
  const Dims order = a.dims().dims();
  Dims inverse(order.size(), Dim(0));
  for (size_t i = 0; i < order.size(); ++i)
    inverse[a.axis(order[i].value(), order.size())] = static_cast<int64_t>(i);
  return b.call("aten.permute.default", {ValueRef{write.value}, std::move(inverse)});
}

// A part of a split begins at the end of the previous part.
template <class A>
ValueId unsplit(Builder& b, const A& a, const ViewWrite& write) {
  const int64_t dim = a.dim().integer();
  const size_t axis = a.axis(dim, b.spec(write.parent).rank());
  Dim start = 0;
  for (const ValueId part : write.results) {
    const Dim end = b.symbols().add(start, b.spec(part).sizes[axis]);
    if (part == write.written) {
      return b.call("aten.slice_scatter.default",
                    {ValueRef{write.parent}, ValueRef{write.value}, Dim(dim), start, end});
    }
    start = end;
  }
  return write.parent;
}

template <template <class> class View, ValueId (*kScatter)(Builder&, const View<Call>&, const ViewWrite&)>
constexpr ViewInverse inverse() {
  return {View<Call>::kName, [](Builder& b, const Call& view, const ViewWrite& write) {
            return kScatter(b, View<Call>(view), write);
          }};
}

constexpr ViewInverse kRows[] = {
    inverse<ops::_reshape_alias_default, resize>(),
    inverse<ops::_unsafe_view_default, resize>(),
    inverse<ops::alias_default, same>(),
    inverse<ops::as_strided_default, unstride>(),
    inverse<ops::chunk_default, unsplit>(),
    inverse<ops::contiguous_default, same>(),
    inverse<ops::detach_default, same>(),
    inverse<ops::diagonal_default, undiagonal>(),
    inverse<ops::expand_default, unexpand>(),
    inverse<ops::flatten_using_ints, resize>(),
    inverse<ops::lift_fresh_default, same>(),
    inverse<ops::mT_default, transpose_matrices>(),
    inverse<ops::narrow_default, unnarrow>(),
    inverse<ops::numpy_T_default, reverse_axes>(),
    inverse<ops::permute_default, unpermute>(),
    inverse<ops::ravel_default, resize>(),
    inverse<ops::reshape_default, resize>(),
    inverse<ops::reshape_as_default, resize>(),
    inverse<ops::select_int, unselect>(),
    inverse<ops::slice_Tensor, unslice>(),
    inverse<ops::split_Tensor, unsplit>(),
    inverse<ops::split_default, unsplit>(),
    inverse<ops::split_sizes, unsplit>(),
    inverse<ops::split_with_sizes_default, unsplit>(),
    inverse<ops::squeeze_default, resize>(),
    inverse<ops::squeeze_dim, resize>(),
    inverse<ops::squeeze_dims, resize>(),
    inverse<ops::swapaxes_default, swap_axes_back>(),
    inverse<ops::swapdims_default, swap_dims_back>(),
    inverse<ops::t_default, transpose_matrix>(),
    inverse<ops::to_device, same>(),
    inverse<ops::to_dtype, same>(),
    inverse<ops::to_dtype_layout, same>(),
    inverse<ops::to_other, same>(),
    inverse<ops::to_prim_Device, same>(),
    inverse<ops::to_prim_dtype, same>(),
    inverse<ops::to_prim_other, same>(),
    inverse<ops::transpose_int, transpose_back>(),
    inverse<ops::type_as_default, same>(),
    inverse<ops::unbind_int, unbind>(),
    inverse<ops::unflatten_int, resize>(),
    inverse<ops::unsqueeze_default, resize>(),
    inverse<ops::view_default, resize>(),
    inverse<ops::view_as_default, resize>(),
};

}  // namespace

const ViewInverse* find_view_inverse(std::string_view op) {
  const auto* found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const ViewInverse& row) { return row.op == op; });
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace etb::passes
