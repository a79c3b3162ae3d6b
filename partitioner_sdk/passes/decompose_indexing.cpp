// SPDX-License-Identifier: Apache-2.0
// Reads and writes by index, in their many spellings.
#include "ops/diff.hpp"
#include "ops/index_add.hpp"
#include "ops/index_copy.hpp"
#include "ops/index_fill.hpp"
#include "ops/isin.hpp"
#include "ops/one_hot.hpp"
#include "ops/repeat_interleave.hpp"
#include "ops/take.hpp"
#include "ops/take_along_dim.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// Returns a list of indices with `index` at dimension `dim`.
ir::ValueList index_for(const Call& a, const TensorSpec& self, int64_t dim, ValueId index) {
  const size_t rank = self.rank();
  ir::ValueList indices{std::vector<ValueId>(a.axis(dim, rank) + 1, ir::kNoValue)};
  indices.ids.back() = index;
  return indices;
}

Values index_copy(Builder& b, const ops::index_copy_default<Call>& a) {
  return {b.call("aten.index_put.default",
                 {a.self(), index_for(a, a.self().spec(), a.dim().integer(), a.index()), a.source()})};
}
Values index_add(Builder& b, const ops::index_add_default<Call>& a) {
  const bool has_factor = !(a.alpha().get() == Argument(Dim(1)));
  const Argument source =
      has_factor ? Argument(ValueRef{b.call("aten.mul.Tensor", {a.source(), a.alpha()})}) : a.source();
  return {b.call("aten.index_put.default",
                 {a.self(), index_for(a, a.self().spec(), a.dim().integer(), a.index()), source, true})};
}
Values index_fill_number(Builder& b, const ops::index_fill_int_Scalar<Call>& a) {
  const ValueId value = b.call("aten.scalar_tensor.default", {a.value()}, {{"dtype", a.self().spec().dtype}});
  return {b.call("aten.index_put.default",
                 {a.self(), index_for(a, a.self().spec(), a.dim().integer(), a.index()), ValueRef{value}})};
}
Values index_fill_tensor(Builder& b, const ops::index_fill_int_Tensor<Call>& a) {
  return {b.call("aten.index_put.default",
                 {a.self(), index_for(a, a.self().spec(), a.dim().integer(), a.index()), a.value()})};
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

Values take_along_dim(Builder& b, const ops::take_along_dim_default<Call>& a) {
  if (!a.dim().has_value()) {
    const Dim count = ir::numel(b.symbols(), a.self().spec().sizes);
    const Dim indices = ir::numel(b.symbols(), a.indices().spec().sizes);
    const ValueId line = reshape(b, a.self(), {count});
    return {b.call("aten.gather.default",
                   {ValueRef{line}, Dim(0), ValueRef{reshape(b, a.indices(), {indices})}})};
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
  const ValueId x = b.call("aten.expand.default", {a.self(), std::move(own)});
  const ValueId indices = b.call("aten.expand.default", {a.indices(), std::move(wanted)});
  return {b.call("aten.gather.default", {ValueRef{x}, Dim(static_cast<int64_t>(axis)), ValueRef{indices}})};
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
      row<ops::diff_default, diff>(),
      row<ops::index_add_default, index_add>(),
      row<ops::index_copy_default, index_copy>(),
      row<ops::index_fill_int_Scalar, index_fill_number>(),
      row<ops::index_fill_int_Tensor, index_fill_tensor>(),
      row<ops::isin_Tensor_Scalar, isin_number>(),
      row<ops::isin_Tensor_Tensor, isin>(),
      row<ops::one_hot_default, one_hot>(),
      row<ops::repeat_interleave_self_int, repeat_interleave>(),
      row<ops::take_default, take>(),
      row<ops::take_along_dim_default, take_along_dim>(),
  };
  return kRows;
}

}  // namespace etb::passes
