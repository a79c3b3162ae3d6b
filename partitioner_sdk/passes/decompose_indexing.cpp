// SPDX-License-Identifier: Apache-2.0
// Reads and writes by index, in their many spellings.
#include <algorithm>

#include "api/ops/sizes/view.hpp"
#include "ops/_unsafe_masked_index.hpp"
#include "ops/_unsafe_masked_index_put_accumulate.hpp"
#include "ops/as_strided_scatter.hpp"
#include "ops/combinations.hpp"
#include "ops/diagonal_scatter.hpp"
#include "ops/diff.hpp"
#include "ops/index_add.hpp"
#include "ops/index_copy.hpp"
#include "ops/index_fill.hpp"
#include "ops/index_reduce.hpp"
#include "ops/isin.hpp"
#include "ops/max_unpool2d.hpp"
#include "ops/max_unpool3d.hpp"
#include "ops/one_hot.hpp"
#include "ops/put.hpp"
#include "ops/repeat_interleave.hpp"
#include "ops/scatter.hpp"
#include "ops/searchsorted.hpp"
#include "ops/take.hpp"
#include "ops/take_along_dim.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// Writes `source` to the slices of the op's tensor that `index` names along `dim`. PyTorch takes a number for a
// tensor of one element.
template <class A>
Values put_slices(Builder& b, const A& a, ValueId source, bool adds) {
  const TensorSpec in = a.self().spec();
  const bool is_number = in.rank() == 0;
  const ValueId self = is_number ? reshape(b, a.self(), {Dim(1)}) : ValueId(a.self());
  const TensorSpec from = b.spec(source);
  if (is_number && from.rank() == 0 && a.index().spec().rank() == 1)
    source = reshape(b, source, {a.index().spec().sizes[0]});
  ir::ValueList indices{std::vector<ValueId>(a.axis(a.dim().integer(), in.rank()) + 1, ir::kNoValue)};
  indices.ids.back() = a.index();
  const ValueId out =
      b.call("aten.index_put.default", {ValueRef{self}, std::move(indices), ValueRef{source}, adds});
  return {is_number ? reshape(b, out, {}) : out};
}

Values index_copy(Builder& b, const ops::index_copy_default<Call>& a) {
  return put_slices(b, a, a.source(), false);
}
Values index_add(Builder& b, const ops::index_add_default<Call>& a) {
  const bool has_factor = !(a.alpha().get() == Argument(Dim(1)));
  return put_slices(b, a, has_factor ? b.call("aten.mul.Tensor", {a.source(), a.alpha()}) : a.source(), true);
}
Values index_fill_number(Builder& b, const ops::index_fill_int_Scalar<Call>& a) {
  const ValueId value = b.call("aten.scalar_tensor.default", {a.value()}, {{"dtype", a.self().spec().dtype}});
  return put_slices(b, a, value, false);
}
Values index_fill_tensor(Builder& b, const ops::index_fill_int_Tensor<Call>& a) {
  return put_slices(b, a, a.value(), false);
}

// Overwrites a diagonal, which is the last dimension of `src`.
Values diagonal_scatter(Builder& b, const ops::diagonal_scatter_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const size_t rank = in.rank();
  const size_t first = a.axis(a.dim1().integer(), rank), second = a.axis(a.dim2().integer(), rank);
  if (rank < 2 || first >= rank || second >= rank || first == second) return {};
  const int64_t offset = diagonal_offset(a, a.offset());
  Dims order = {Dim(static_cast<int64_t>(first)), Dim(static_cast<int64_t>(second))};
  for (size_t i = 0; i < rank; ++i)
    if (i != first && i != second) order.emplace_back(static_cast<int64_t>(i));
  Dims back(rank);
  for (size_t i = 0; i < rank; ++i)
    back[static_cast<size_t>(order[i].value())] = Dim(static_cast<int64_t>(i));
  infer::Formulas formulas(b.symbols());
  const Dim count = ops::diagonal_size(formulas, in.sizes[first], in.sizes[second], offset);
  ir::ValueList indices;
  for (const int64_t begin : {std::max<int64_t>(-offset, 0), std::max<int64_t>(offset, 0)})
    indices.ids.push_back(b.call("aten.arange.start_step", {Dim(begin), b.symbols().add(count, begin)},
                                 {{"dtype", Dtype::INT64}}));
  const ValueId turned = b.call("aten.permute.default", {a.self(), std::move(order)});
  Dims source_order = {Dim(static_cast<int64_t>(rank) - 2)};
  for (int64_t i = 0; i + 2 < static_cast<int64_t>(rank); ++i) source_order.emplace_back(i);
  const ValueId source = b.call("aten.permute.default", {a.src(), std::move(source_order)});
  const ValueId out =
      b.call("aten.index_put.default", {ValueRef{turned}, std::move(indices), ValueRef{source}});
  return {b.call("aten.permute.default", {ValueRef{out}, std::move(back)})};
}

// Overwrites the elements that as_strided would show.
Values as_strided_scatter(Builder& b, const ops::as_strided_scatter_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const Dims sizes = a.size().dims(), strides = a.stride().dims();
  // A stride and an offset of at most 2^31 keep every place below 2^63.
  constexpr int64_t kMaxElements = 1 << 24, kMaxPlace = int64_t{1} << 31;
  const int64_t start = a.storage_offset().has_value() ? a.storage_offset().integer() : 0;
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size() && i < strides.size(); ++i) {
    if (!sizes[i].is_static() || !strides[i].is_static() || sizes[i].value() > kMaxElements ||
        (count *= std::max<int64_t>(sizes[i].value(), 0)) > kMaxElements) {
      a.fail("sizes or strides are known only at run time, or name more than " +
             std::to_string(kMaxElements) + " elements");
      return {};
    }
    if (strides[i].value() < 0 || strides[i].value() > kMaxPlace || start < 0 || start > kMaxPlace) {
      a.fail("stride " + std::to_string(strides[i].value()) + " and storage_offset " + std::to_string(start) +
             ", expected 0 to " + std::to_string(kMaxPlace));
      return {};
    }
  }
  if (sizes.size() != strides.size() || !ir::is_contiguous(b.symbols(), in)) {
    a.fail("the tensor is not contiguous\nhint: call contiguous() before as_strided_scatter");
    return {};
  }
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = start, rest = i;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d].value())
      at += rest % sizes[d].value() * strides[d].value();
    elements.push_back(at);
  }
  const ValueId index = add_elements(b, Dtype::INT64, {count}, elements);
  const ValueId flat = reshape(b, a.self(), {Dim(-1)}), source = reshape(b, a.src(), {Dim(count)});
  const ValueId out =
      b.call("aten.index_put.default", {ValueRef{flat}, ir::ValueList{{index}}, ValueRef{source}});
  return {reshape(b, out, in.sizes)};
}

// One row for each choice of r elements of a vector, in the order of itertools.
Values combinations(Builder& b, const ops::combinations_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const int64_t r = a.r().integer();
  constexpr size_t kMaxRows = 1 << 20;
  if (in.rank() != 1 || !in.sizes[0].is_static() || r < 1 || r > 64) {
    a.fail("expected a vector of a size known at compile time, and r from 1 to 64, found r of " +
           std::to_string(r));
    return {};
  }
  const int64_t count = in.sizes[0].value();
  std::vector<std::vector<int64_t>> columns(static_cast<size_t>(r));
  std::vector<int64_t> choice(static_cast<size_t>(r));
  const int64_t step = a.with_replacement() ? 0 : 1;
  for (int64_t i = 0; i < r; ++i) choice[static_cast<size_t>(i)] = i * step;
  // The largest element at place i leaves room for the larger ones after it.
  const auto limit = [&](int64_t i) { return count - 1 - (r - 1 - i) * step; };
  for (bool goes_on = limit(0) >= 0; goes_on;) {
    for (size_t i = 0; i < choice.size(); ++i) columns[i].push_back(choice[i]);
    if (columns[0].size() > kMaxRows) {
      a.fail("more than " + std::to_string(kMaxRows) + " rows");
      return {};
    }
    int64_t last = r - 1;
    while (last >= 0 && choice[static_cast<size_t>(last)] == limit(last)) --last;
    goes_on = last >= 0;
    for (int64_t i = std::max<int64_t>(last, 0), next = choice[static_cast<size_t>(i)] + 1; goes_on && i < r;
         ++i)
      choice[static_cast<size_t>(i)] = next + (i - last) * step;
  }
  ir::ValueList parts;
  for (const std::vector<int64_t>& column : columns) {
    const ValueId index = add_elements(b, Dtype::INT64, {static_cast<int64_t>(column.size())}, column);
    parts.ids.push_back(b.call("aten.index_select.default", {a.self(), Dim(0), ValueRef{index}}));
  }
  return {b.call("aten.stack.default", {std::move(parts), Dim(1)})};
}

// Puts each element where max pooling found it; all others are 0.
template <size_t Axes, class A>
Values max_unpool(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const Dims wanted = a.output_size().dims();
  if (in.rank() < Axes || wanted.size() != Axes) return {};
  Dims lead(in.sizes.begin(), in.sizes.end() - static_cast<std::ptrdiff_t>(Axes)), flat = lead, from = lead;
  Dim pixels = 1;
  for (const Dim size : wanted) pixels = b.symbols().mul(pixels, size);
  Dim own = 1;
  for (size_t i = lead.size(); i < in.rank(); ++i) own = b.symbols().mul(own, in.sizes[i]);
  flat.push_back(pixels);
  from.push_back(own);
  const ValueId zeros = b.call("aten.full.default", {Argument(flat), Dim(0)}, {{"dtype", in.dtype}});
  const ValueId indices = reshape(b, a.indices(), from), values = reshape(b, a.self(), from);
  const ValueId out =
      b.call("aten.scatter.src", {ValueRef{zeros}, Dim(-1), ValueRef{indices}, ValueRef{values}});
  lead.insert(lead.end(), wanted.begin(), wanted.end());
  return {reshape(b, out, std::move(lead))};
}

// Repeats each element several times in a row.
Values repeat_interleave(Builder& b, const ops::repeat_interleave_self_int<Call>& a) {
  ValueId x = a.self();
  if (!a.dim().has_value()) {
    const Dim count = ir::numel(b.symbols(), b.spec(x).sizes);
    x = reshape(b, x, {count});
  }
  const TensorSpec in = b.spec(x);
  const size_t axis = a.dim().has_value() ? a.axis(a.dim().integer(), in.rank()) : 0;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  Dims wide = in.sizes, sizes = in.sizes;
  wide.insert(wide.begin() + at + 1, a.repeats().dim());
  sizes[axis] = b.symbols().mul(in.sizes[axis], a.repeats().dim());
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(static_cast<int64_t>(axis) + 1)});
  const ValueId repeated = b.call("aten.expand.default", {ValueRef{column}, std::move(wide)});
  const ValueId dense =
      b.call("aten.clone.default", {ValueRef{repeated}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
  return {reshape(b, dense, std::move(sizes))};
}

Values one_hot(Builder& b, const ops::one_hot_default<Call>& a) {
  const Dim count = a.num_classes().dim();
  if (count.is(-1)) {
    a.fail("num_classes is -1, so the number of classes depends on the data\nhint: pass num_classes");
    return {};
  }
  const ValueId column = b.call("aten.unsqueeze.default", {a.self(), Dim(-1)});
  const ValueId classes = b.call("aten.arange.start_step", {Dim(0), count});
  return {to_dtype(b, b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{classes}}), Dtype::INT64)};
}

// Counts negative indices from the end.
ValueId wrapped_indices(Builder& b, ValueId indices, Dim size) {
  const ValueId is_negative = b.call("aten.lt.Scalar", {ValueRef{indices}, Dim(0)});
  const ValueId wrapped = b.call("aten.add.Scalar", {ValueRef{indices}, size});
  return b.call("aten.where.self", {ValueRef{is_negative}, ValueRef{wrapped}, ValueRef{indices}});
}

Values take_along_dim(Builder& b, const ops::take_along_dim_default<Call>& a) {
  if (!a.dim().has_value()) {
    const Dim count = ir::numel(b.symbols(), a.self().spec().sizes);
    const Dim indices = ir::numel(b.symbols(), a.indices().spec().sizes);
    const ValueId line = reshape(b, a.self(), {count});
    const ValueId places = wrapped_indices(b, reshape(b, a.indices(), {indices}), count);
    return {b.call("aten.gather.default", {ValueRef{line}, Dim(0), ValueRef{places}})};
  }
  // Sizes that differ from the dimension's are broadcast.
  const size_t axis = a.axis(a.dim().integer(), a.self().spec().rank());
  if (a.indices().spec().rank() != a.self().spec().rank()) return {};
  Dims own = a.self().spec().sizes, wanted = a.indices().spec().sizes;
  for (size_t i = 0; i < own.size(); ++i) {
    if (i == axis) continue;
    if (own[i].is(1)) own[i] = wanted[i];
    if (wanted[i].is(1)) wanted[i] = own[i];
  }
  const Dim size = own.empty() ? Dim(1) : own[axis];
  const ValueId x = b.call("aten.expand.default", {a.self(), std::move(own)});
  const ValueId wrapped = wrapped_indices(b, a.indices(), size);
  const ValueId indices = b.call("aten.expand.default", {ValueRef{wrapped}, std::move(wanted)});
  return {b.call("aten.gather.default", {ValueRef{x}, Dim(static_cast<int64_t>(axis)), ValueRef{indices}})};
}

// Writes to the elements, viewed as one row.
Values put(Builder& b, const ops::put_default<Call>& a) {
  const ValueId line = reshape(b, a.self(), {Dim(-1)}), source = reshape(b, a.source(), {Dim(-1)});
  const ValueId index = reshape(b, a.index(), {Dim(-1)});
  const ValueId out = b.call("aten.index_put.default",
                             {ValueRef{line}, ir::ValueList{{index}}, ValueRef{source}, a.accumulate()});
  return {reshape(b, out, a.self().spec().sizes)};
}

// scatter with reduce="add" or "multiply": scatter_reduce has its own names for both.
template <class A>
Values scatter_with(Builder& b, const A& a, ValueId source) {
  const std::string* reduce = a.reduce().find_text();
  if (reduce == nullptr || (*reduce != "add" && *reduce != "multiply")) {
    a.fail("reduce is neither 'add' nor 'multiply'");
    return {};
  }
  return {b.call("aten.scatter_reduce.two", {a.self(), a.dim(), a.index(), ValueRef{source},
                                             std::string(*reduce == "add" ? "sum" : "prod"), true})};
}
Values scatter_reduce_tensor(Builder& b, const ops::scatter_reduce<Call>& a) {
  return scatter_with(b, a, a.src());
}
Values scatter_reduce_number(Builder& b, const ops::scatter_value_reduce<Call>& a) {
  const ValueId source = b.call("aten.full.default", {Argument(a.index().spec().sizes), a.value()},
                                {{"dtype", a.self().spec().dtype}});
  return scatter_with(b, a, source);
}

// scatter_reduce with one index for each slice along `dim`.
Values index_reduce(Builder& b, const ops::index_reduce_default<Call>& a) {
  const TensorSpec in = a.self().spec(), from = a.source().spec();
  const bool is_number = in.rank() == 0;
  const ValueId self = is_number ? reshape(b, a.self(), {Dim(1)}) : ValueId(a.self());
  const ValueId source = from.rank() == 0 ? reshape(b, a.source(), {Dim(1)}) : ValueId(a.source());
  Dims wide = sizes_of(b, source), column(wide.size(), Dim(1));
  const size_t axis = a.axis(a.dim().integer(), wide.size());
  if (axis >= wide.size()) return {};
  column[axis] = Dim(-1);
  const ValueId index =
      b.call("aten.expand.default", {ValueRef{reshape(b, a.index(), std::move(column))}, Argument(wide)});
  const ValueId out =
      b.call("aten.scatter_reduce.two", {ValueRef{self}, Dim(static_cast<int64_t>(axis)), ValueRef{index},
                                         ValueRef{source}, a.reduce(), a.include_self()});
  return {is_number ? reshape(b, out, {}) : out};
}

// An int32 result is converted, so that only the one of int64 needs a rule.
Values searchsorted(Builder& b, const ops::searchsorted_Tensor<Call>& a) {
  if (!a.out_int32()) return {};
  const ValueId places = b.call("aten.searchsorted.Tensor", {a.sorted_sequence(), a.self()},
                                {{"right", a.right()}, {"side", a.side()}, {"sorter", a.sorter()}});
  return {to_dtype(b, places, Dtype::INT32)};
}

// Indices moved into the tensor: where the mask is false they may be anything.
template <class A>
ir::ValueList clamped_indices(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  ir::ValueList out;
  const std::vector<ValueId> given = a.indices().ids();
  for (size_t i = 0; i < given.size() && i < in.rank(); ++i) {
    if (given[i] == ir::kNoValue) {
      out.ids.push_back(ir::kNoValue);
      continue;
    }
    const Dim size = in.sizes[i];
    out.ids.push_back(b.call("aten.clamp.default",
                             {ValueRef{given[i]}, b.symbols().mul(size, -1), b.symbols().sub(size, 1)}));
  }
  return out;
}
bool has_no_elements(const TensorSpec& spec) {
  return std::any_of(spec.sizes.begin(), spec.sizes.end(), [](Dim size) { return size.is(0); });
}

// The elements at the indices where the mask is true, and a number elsewhere.
Values masked_index(Builder& b, const ops::_unsafe_masked_index_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (has_no_elements(in)) {
    a.fail("the tensor has no elements to index");
    return {};
  }
  const ValueId found = b.call("aten.index.Tensor", {a.self(), clamped_indices(b, a)});
  const ValueId fill = b.call("aten.scalar_tensor.default", {a.fill()}, {{"dtype", in.dtype}});
  return {b.call("aten.where.self", {a.mask(), ValueRef{found}, ValueRef{fill}})};
}
// Adds the values to the elements at the indices where the mask is true.
Values masked_index_add(Builder& b, const ops::_unsafe_masked_index_put_accumulate_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (has_no_elements(in)) return {b.call("aten.clone.default", {a.self()})};
  const ValueId zero = b.call("aten.scalar_tensor.default", {Dim(0)}, {{"dtype", in.dtype}});
  const ValueId values = b.call("aten.where.self", {a.mask(), a.values(), ValueRef{zero}});
  return {b.call("aten.index_put.default", {a.self(), clamped_indices(b, a), ValueRef{values}, true})};
}

// Reads from the elements, viewed as one row.
Values take(Builder& b, const ops::take_default<Call>& a) {
  const ValueId line = reshape(b, a.self(), {Dim(-1)});
  return {b.call("aten.index.Tensor", {ValueRef{line}, ir::ValueList{{a.index()}}})};
}

Values isin(Builder& b, const ops::isin_Tensor_Tensor<Call>& a) {
  const ValueId column = b.call("aten.unsqueeze.default", {a.elements(), Dim(-1)});
  const ValueId tests = reshape(b, a.test_elements(), {Dim(-1)});
  const ValueId equal = b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{tests}});
  const ValueId found = b.call("aten.any.dim", {ValueRef{equal}, Dim(-1)});
  return {a.invert() ? b.call("aten.logical_not.default", {ValueRef{found}}) : found};
}
Values isin_number(Builder& b, const ops::isin_Tensor_Scalar<Call>& a) {
  return {b.call(a.invert() ? "aten.ne.Scalar" : "aten.eq.Scalar", {a.elements(), a.test_element()})};
}

// Differences of neighbours, n times.
Values diff(Builder& b, const ops::diff_default<Call>& a) {
  const int64_t dim = a.dim().integer();
  ValueId x = a.self();
  if (a.prepend().has_value() || a.append().has_value()) {
    ir::ValueList parts;
    if (a.prepend().has_value()) parts.ids.push_back(a.prepend());
    parts.ids.push_back(x);
    if (a.append().has_value()) parts.ids.push_back(a.append());
    x = b.call("aten.cat.default", {std::move(parts), Dim(dim)});
  }
  for (int64_t i = 0; i < a.n().integer(); ++i) {
    const TensorSpec in = b.spec(x);
    const Dim size = in.sizes[a.axis(dim, in.rank())];
    const ValueId later = b.call("aten.slice.Tensor", {ValueRef{x}, Dim(dim), Dim(1), size});
    const ValueId earlier =
        b.call("aten.slice.Tensor", {ValueRef{x}, Dim(dim), Dim(0), b.symbols().sub(size, 1)});
    x = b.call("aten.sub.Tensor", {ValueRef{later}, ValueRef{earlier}});
  }
  return {x};
}

}  // namespace

std::span<const Decomposition> indexing_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_unsafe_masked_index_default, masked_index>(),
      row<ops::_unsafe_masked_index_put_accumulate_default, masked_index_add>(),
      row<ops::as_strided_scatter_default, as_strided_scatter>(),
      row<ops::combinations_default, combinations>(),
      row<ops::diagonal_scatter_default, diagonal_scatter>(),
      row<ops::diff_default, diff>(),
      row<ops::index_add_default, index_add>(),
      row<ops::index_copy_default, index_copy>(),
      row<ops::index_fill_int_Scalar, index_fill_number>(),
      row<ops::index_fill_int_Tensor, index_fill_tensor>(),
      row<ops::index_reduce_default, index_reduce>(),
      row<ops::isin_Tensor_Scalar, isin_number>(),
      row<ops::isin_Tensor_Tensor, isin>(),
      row<ops::max_unpool2d_default, max_unpool<2>>(),
      row<ops::max_unpool3d_default, max_unpool<3>>(),
      row<ops::one_hot_default, one_hot>(),
      row<ops::put_default, put>(),
      row<ops::repeat_interleave_self_int, repeat_interleave>(),
      row<ops::scatter_reduce, scatter_reduce_tensor>(),
      row<ops::scatter_value_reduce, scatter_reduce_number>(),
      row<ops::searchsorted_Tensor, searchsorted>(),
      row<ops::take_default, take>(),
      row<ops::take_along_dim_default, take_along_dim>(),
  };
  return kRows;
}

}  // namespace etb::passes
