// SPDX-License-Identifier: Apache-2.0
// Views, and the ops that copy instead.
#include <algorithm>

#include "api/ops/sizes/view.hpp"
#include "ops/_conj.hpp"
#include "ops/alias.hpp"
#include "ops/alias_copy.hpp"
#include "ops/detach.hpp"
#include "ops/diagonal.hpp"
#include "ops/diagonal_copy.hpp"
#include "ops/expand.hpp"
#include "ops/expand_copy.hpp"
#include "ops/imag.hpp"
#include "ops/permute.hpp"
#include "ops/permute_copy.hpp"
#include "ops/real.hpp"
#include "ops/select.hpp"
#include "ops/select_copy.hpp"
#include "ops/slice.hpp"
#include "ops/slice_copy.hpp"
#include "ops/split_with_sizes.hpp"
#include "ops/split_with_sizes_copy.hpp"
#include "ops/squeeze.hpp"
#include "ops/squeeze_copy.hpp"
#include "ops/t.hpp"
#include "ops/transpose.hpp"
#include "ops/unfold.hpp"
#include "ops/unfold_copy.hpp"
#include "ops/unsqueeze.hpp"
#include "ops/unsqueeze_copy.hpp"
#include "ops/view.hpp"
#include "ops/view_as_complex.hpp"
#include "ops/view_as_complex_copy.hpp"
#include "ops/view_as_real.hpp"
#include "ops/view_as_real_copy.hpp"
#include "ops/view_copy.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

template <class C>
Specs permute(const C& call) {
  const TensorSpec& in = call.self().spec();
  TensorSpec out{in.dtype, {}, {}};
  std::vector<int64_t> dims;
  for (const Dim wanted : call.dims().dims()) dims.push_back(wanted.value());
  std::vector<size_t> order(dims.size());
  size_t index = 0;
  switch (ops::read_permutation(dims, in.rank(), order.data(), &index)) {
    case ops::PermutationError::kNone:
      break;
    case ops::PermutationError::kAxis:
      static_cast<void>(call.axis(dims[index], in.rank()));  // reports the dimension that is out of range
      return {in};
    default:
      call.fail("argument 'dims' is not a permutation of the " + std::to_string(in.rank()) + " dimensions");
      return {in};
  }
  for (const size_t axis : order) {
    out.sizes.push_back(in.sizes[axis]);
    out.strides.push_back(in.strides[axis]);
  }
  return {out};
}

Specs swap_axes(const Call& call, TensorSpec out, int64_t a, int64_t b) {
  if (out.rank() == 0) return {out};
  const size_t first = call.axis(a, out.rank()), second = call.axis(b, out.rank());
  std::swap(out.sizes[first], out.sizes[second]);
  std::swap(out.strides[first], out.strides[second]);
  return {out};
}
Specs transpose(const ops::transpose_int<Call>& call) {
  return swap_axes(call, call.self().spec(), call.dim0().integer(), call.dim1().integer());
}
Specs transpose_matrix(const ops::t_default<Call>& call) {
  return call.self().spec().rank() < 2 ? Specs{call.self().spec()}
                                       : swap_axes(call, call.self().spec(), 0, 1);
}

template <class C>
Specs expand(const C& call) {
  const TensorSpec& in = call.self().spec();
  const Dims sizes = call.size().dims();
  if (sizes.size() < in.rank()) {
    call.fail("cannot expand a tensor of rank " + std::to_string(in.rank()) + " to " +
              std::to_string(sizes.size()) + " sizes, expected at least one per dimension");
    return {in};
  }
  TensorSpec out{in.dtype, sizes, Dims(sizes.size(), Dim(0))};
  const Formulas formulas(call.symbols());
  const size_t added = sizes.size() - in.rank();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto expanded = i < added ? ops::expand_new_size(formulas, sizes[i])
                                    : ops::expand_size(formulas, in.sizes[i - added], sizes[i]);
    if (!expanded) {
      call.fail("cannot expand dimension " + std::to_string(i) + " to size " +
                std::to_string(sizes[i].value()) + ", expected its present size unless that is 1");
      return {in};
    }
    out.sizes[i] = expanded->size;
    if (expanded->is_kept) out.strides[i] = in.strides[i - added];
  }
  return {out};
}

template <class C>
Specs unsqueeze(const C& call) {
  TensorSpec out = call.self().spec();
  const size_t axis = call.axis(call.dim().integer(), out.rank() + 1);
  const Dim stride = axis < out.rank() ? call.symbols().mul(out.sizes[axis], out.strides[axis]) : Dim(1);
  out.sizes.insert(out.sizes.begin() + static_cast<std::ptrdiff_t>(axis), Dim(1));
  out.strides.insert(out.strides.begin() + static_cast<std::ptrdiff_t>(axis), stride);
  return {out};
}

Specs drop_axes(const Call& call, const TensorSpec& in, const std::vector<bool>& is_named) {
  const Formulas formulas(call.symbols());
  TensorSpec out{in.dtype, {}, {}};
  for (size_t i = 0; i < in.rank(); ++i) {
    if (ops::is_squeezed(formulas, in.sizes[i], is_named[i])) continue;
    out.sizes.push_back(in.sizes[i]);
    out.strides.push_back(in.strides[i]);
  }
  return {out};
}
Specs squeeze(const ops::squeeze_default<Call>& call) {
  const TensorSpec& in = call.self().spec();
  return drop_axes(call, in, std::vector<bool>(in.rank(), true));
}
template <class C>
Specs squeeze_dims(const C& call) {
  const TensorSpec& in = call.self().spec();
  if (call.dim().dims().empty()) return {in};
  return drop_axes(call, in, call.axes(call.dim().dims(), in.rank()));
}

template <class C>
Specs slice(const C& call) {
  TensorSpec out = call.self().spec();
  if (out.rank() == 0) {
    call.fail("cannot slice a 0-d tensor");
    return {out};
  }
  ir::SymbolTable& symbols = call.symbols();
  Formulas formulas(symbols);
  const size_t axis = call.axis(call.dim().integer(), out.rank());
  const Dim size = out.sizes[axis];
  const Dim start = call.start().has_value() ? ops::slice_bound(formulas, size, call.start().dim()) : Dim(0);
  const Dim end =
      symbols.max(call.end().has_value() ? ops::slice_bound(formulas, size, call.end().dim()) : size, start);
  const int64_t step = call.step().integer();
  if (step <= 0) {
    call.fail("step " + std::to_string(step) + ", expected at least 1");
    return {out};
  }
  out.sizes[axis] = ops::slice_count(formulas, start, end, step);
  out.strides[axis] = symbols.mul(out.strides[axis], step);
  return {out};
}

template <class C>
Specs select(const C& call) {
  TensorSpec out = call.self().spec();
  if (out.rank() == 0) {
    call.fail("cannot select from a 0-d tensor");
    return {out};
  }
  const auto axis = static_cast<std::ptrdiff_t>(call.axis(call.dim().integer(), out.rank()));
  out.sizes.erase(out.sizes.begin() + axis);
  out.strides.erase(out.strides.begin() + axis);
  return {out};
}

// The diagonal becomes the last dimension.
template <class C>
Specs diagonal(const C& call) {
  TensorSpec out = call.self().spec();
  if (out.rank() < 2) {
    call.fail("tensor of rank " + std::to_string(out.rank()) + ", expected at least 2");
    return {out};
  }
  const int64_t offset = call.offset().integer();
  const size_t rows = call.axis(call.dim1().integer(), out.rank()),
               columns = call.axis(call.dim2().integer(), out.rank());
  if (rows == columns) {
    call.fail("dim1 and dim2 name the same dimension, expected two different ones");
    return {out};
  }
  ir::SymbolTable& symbols = call.symbols();
  Formulas formulas(symbols);
  const Dim length = ops::diagonal_size(formulas, out.sizes[rows], out.sizes[columns], offset);
  const Dim stride = symbols.add(out.strides[rows], out.strides[columns]);
  for (const size_t axis : {std::max(rows, columns), std::min(rows, columns)}) {
    out.sizes.erase(out.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
    out.strides.erase(out.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  out.sizes.push_back(length);
  out.strides.push_back(stride);
  return {out};
}

template <class C>
Specs split_with_sizes(const C& call) {
  const TensorSpec& in = call.self().spec();
  Specs out;
  if (in.rank() == 0) {
    call.fail("cannot split a 0-d tensor");
    return out;
  }
  const size_t axis = call.axis(call.dim().integer(), in.rank());
  Dim total = 0;
  for (const Dim size : call.split_sizes().dims()) {
    out.push_back(in);
    out.back().sizes[axis] = size;
    total = call.symbols().add(total, size);
  }
  if (total.is_static() && in.sizes[axis].is_static() && total != in.sizes[axis])
    call.fail("split sizes add up to " + std::to_string(total.value()) + ", the dimension has size " +
              std::to_string(in.sizes[axis].value()));
  return out;
}

template <class C>
Specs same(const C& call) {
  return {call.self().spec()};
}

// Windows of a dimension, one after the other; their elements become the last dimension.
template <class C>
Specs unfold(const C& call) {
  TensorSpec out = call.self().spec();
  const int64_t size = call.size().integer(), step = call.step().integer();
  const size_t axis = call.axis(call.dimension().integer(), out.rank());
  if (out.rank() == 0 || size < 0 || step <= 0) {
    call.fail("windows of " + std::to_string(size) + " every " + std::to_string(step) + " elements of rank " +
              std::to_string(out.rank()));
    return {out};
  }
  ir::SymbolTable& symbols = call.symbols();
  const Dim last = symbols.sub(out.sizes[axis], size);
  if (last.is_static() && last.value() < 0) {
    call.fail("windows of " + std::to_string(size) + " in a dimension of " +
              std::to_string(out.sizes[axis].value()));
    return {out};
  }
  const Dim stride = out.strides[axis];
  out.sizes[axis] = symbols.add(symbols.floor_div(last, step), 1);
  out.strides[axis] = symbols.mul(stride, step);
  out.sizes.emplace_back(size);
  out.strides.push_back(stride);
  return {out};
}

// Pairs of reals in one more dimension.
template <class C>
Specs view_as_real(const C& call) {
  TensorSpec out = call.self().spec();
  for (Dim& stride : out.strides) stride = call.symbols().mul(stride, 2);
  out.sizes.emplace_back(2);
  out.strides.emplace_back(1);
  return {out};
}
template <class C>
Specs view_as_complex(const C& call) {
  TensorSpec out = call.self().spec();
  if (out.rank() == 0 || !out.sizes.back().is(2)) {
    call.fail("the last dimension is not pairs of numbers");
    return {out};
  }
  out.sizes.pop_back();
  out.strides.pop_back();
  for (Dim& stride : out.strides) stride = call.symbols().floor_div(stride, 2);
  return {out};
}
// One part of a complex tensor, a view of every other number. A real tensor is its own real part.
template <class C>
Specs part(const C& call) {
  TensorSpec out = call.self().spec();
  if (!ops::is_complex(out.dtype)) return {out};
  for (Dim& stride : out.strides) stride = call.symbols().mul(stride, 2);
  return {out};
}

// Returns the sizes with -1 replaced by the size that fills the view.
Dims view_sizes(const Call& call, const TensorSpec& in, Dims sizes) {
  ir::SymbolTable& symbols = call.symbols();
  const Dim all = ir::numel(symbols, in.sizes);
  Formulas formulas(symbols);
  size_t index = 0;
  switch (ops::fill_open_size(formulas, all, sizes, &index)) {
    case ops::ReshapeError::kNone:
      break;
    case ops::ReshapeError::kSize:
      call.fail("view with size " + symbols.format(sizes[index]) + " at " + std::to_string(index) +
                ", expected -1 once and otherwise at least 0");
      break;
    case ops::ReshapeError::kDoesNotDivide:
      call.fail("cannot view " + symbols.format(all) + " elements: they do not fill size " +
                std::to_string(index) + " (-1) evenly");
      break;
    case ops::ReshapeError::kDiffers:
      call.fail("cannot view " + symbols.format(all) + " elements as " +
                symbols.format(ir::numel(symbols, sizes)));
      break;
  }
  return sizes;
}

// PyTorch's rule for views: consecutive dimensions that are contiguous in memory can be split differently.
// Returns nullopt when a copy is needed. (ATen/TensorUtils.cpp, computeStride)
std::optional<Dims> view_strides(ir::SymbolTable& symbols, const TensorSpec& in, const Dims& sizes) {
  if (ir::is_contiguous(symbols, in)) return ir::contiguous_strides(symbols, sizes);
  Dims strides(sizes.size(), Dim(1));
  size_t next = sizes.size();
  Dim step = 1;
  Dim have = 1;
  for (size_t i = in.rank(); i-- > 0;) {
    if (have.is(1) && !in.sizes[i].is(1)) step = in.strides[i];
    have = symbols.mul(have, in.sizes[i]);
    const bool is_run_end =
        i == 0 || (!in.sizes[i - 1].is(1) && in.strides[i - 1] != symbols.mul(have, step));
    if (!is_run_end) continue;
    Dim taken = 1;
    Dim stride = step;
    while (next > 0 && (taken != have || sizes[next - 1].is(1))) {
      --next;
      strides[next] = stride;
      stride = symbols.mul(stride, sizes[next]);
      taken = symbols.mul(taken, sizes[next]);
      // Known numbers that exceed each other never become equal again.
      if (taken.is_static() && have.is_static() && taken.value() > have.value()) return std::nullopt;
    }
    if (taken != have) return std::nullopt;
    have = 1;
  }
  return next == 0 ? std::optional<Dims>(strides) : std::nullopt;
}

template <class C>
Specs view(const C& call) {
  const TensorSpec& in = call.self().spec();
  Dims sizes = view_sizes(call, in, call.size().dims());
  auto strides = view_strides(call.symbols(), in, sizes);
  // A graph with this view has run, so the view is possible; the formulas may only differ too much to prove
  // it.
  if (!strides) strides = ir::contiguous_strides(call.symbols(), sizes);
  return {{in.dtype, std::move(sizes), *std::move(strides)}};
}

}  // namespace

std::optional<Dims> try_view(ir::SymbolTable& symbols, const TensorSpec& in, const Dims& sizes) {
  return view_strides(symbols, in, sizes);
}

std::span<const Rule> view_rules() {
  // The copying op has the sizes of its view and is row-major.
  constexpr ResultLayout kOwn = ResultLayout::kOwn, kDense = ResultLayout::kContiguous;
  static constexpr Rule kRows[] = {
      row<ops::_conj_default, same>(kOwn),
      row<ops::alias_default, same>(kOwn),
      row<ops::alias_copy_default, same>(kDense),
      row<ops::detach_default, same>(kOwn),
      row<ops::diagonal_default, diagonal>(kOwn),
      row<ops::diagonal_copy_default, diagonal>(kDense),
      row<ops::expand_default, expand>(kOwn),
      row<ops::expand_copy_default, expand>(kDense),
      row<ops::imag_default, part>(kOwn),
      row<ops::permute_default, permute>(kOwn),
      row<ops::permute_copy_default, permute>(kDense),
      row<ops::real_default, part>(kOwn),
      row<ops::select_int, select>(kOwn),
      row<ops::select_copy_int, select>(kDense),
      row<ops::slice_Tensor, slice>(kOwn),
      row<ops::slice_copy_Tensor, slice>(kDense),
      row<ops::split_with_sizes_default, split_with_sizes>(kOwn),
      row<ops::split_with_sizes_copy_default, split_with_sizes>(kDense),
      row<ops::squeeze_default, squeeze>(kOwn),
      row<ops::squeeze_dim, squeeze_dims>(kOwn),
      row<ops::squeeze_dims, squeeze_dims>(kOwn),
      row<ops::squeeze_copy_dims, squeeze_dims>(kDense),
      row<ops::t_default, transpose_matrix>(kOwn),
      row<ops::transpose_int, transpose>(kOwn),
      row<ops::unfold_default, unfold>(kOwn),
      row<ops::unfold_copy_default, unfold>(kDense),
      row<ops::unsqueeze_default, unsqueeze>(kOwn),
      row<ops::unsqueeze_copy_default, unsqueeze>(kDense),
      row<ops::view_default, view>(kOwn),
      row<ops::view_as_complex_default, view_as_complex>(kOwn),
      row<ops::view_as_complex_copy_default, view_as_complex>(kDense),
      row<ops::view_as_real_default, view_as_real>(kOwn),
      row<ops::view_as_real_copy_default, view_as_real>(kDense),
      row<ops::view_copy_default, view>(kDense),
  };
  return kRows;
}

}  // namespace etb::infer
