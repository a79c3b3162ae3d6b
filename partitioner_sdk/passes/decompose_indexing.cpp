// SPDX-License-Identifier: Apache-2.0
// Writing and reading by index, and its many spellings.
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The place of `index` in a list of indices for dimension `dim`.
ir::ValueList index_for(const Arguments& a, int64_t dim, ValueId index) {
  const size_t rank = a.tensor(0).rank();
  ir::ValueList indices{std::vector<ValueId>(a.axis(dim, rank) + 1, ir::kNoValue)};
  indices.ids.back() = index;
  return indices;
}

// self, dim, index, source
Values index_copy(Builder& b, const Arguments& a) {
  return {b.call("aten.index_put.default",
                 {a.argument(0), index_for(a, a.integer(1), a.value(2)), a.argument(3)})};
}
// self, dim, index, source, alpha
Values index_add(Builder& b, const Arguments& a) {
  const bool has_factor = !(a.argument(4) == Argument(Dim(1)));
  const Argument source = has_factor
                              ? Argument(ValueRef{b.call("aten.mul.Tensor", {a.argument(3), a.argument(4)})})
                              : a.argument(3);
  return {b.call("aten.index_put.default",
                 {a.argument(0), index_for(a, a.integer(1), a.value(2)), source, true})};
}
// self, dim, index, value
Values index_fill_number(Builder& b, const Arguments& a) {
  const ValueId value = b.call("aten.scalar_tensor.default", {a.argument(3)}, {{"dtype", a.tensor(0).dtype}});
  return {b.call("aten.index_put.default",
                 {a.argument(0), index_for(a, a.integer(1), a.value(2)), ValueRef{value}})};
}
Values index_fill_tensor(Builder& b, const Arguments& a) {
  return {b.call("aten.index_put.default",
                 {a.argument(0), index_for(a, a.integer(1), a.value(2)), a.argument(3)})};
}

// self, repeats, dim: each element several times in a row.
Values repeat_interleave(Builder& b, const Arguments& a) {
  ValueId x = a.value(0);
  if (!a.has(2)) {
    const Dim count = ir::numel(b.symbols(), b.spec(x).sizes);
    x = reshape(b, x, {count});
  }
  const TensorSpec in = b.spec(x);
  const size_t axis = a.has(2) ? a.axis(a.integer(2), in.rank()) : 0;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  Dims wide = in.sizes, sizes = in.sizes;
  wide.insert(wide.begin() + at + 1, a.dim(1));
  sizes[axis] = b.symbols().mul(in.sizes[axis], a.dim(1));
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(static_cast<int64_t>(axis) + 1)});
  const ValueId repeated = b.call("aten.expand.default", {ValueRef{column}, std::move(wide)});
  const ValueId dense =
      b.call("aten.clone.default", {ValueRef{repeated}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
  return {reshape(b, dense, std::move(sizes))};
}

// self, num_classes
Values one_hot(Builder& b, const Arguments& a) {
  const Dim count = a.dim(1);
  if (count.is(-1)) {
    a.fail("a number of classes that depends on the data");
    return {};
  }
  const ValueId column = b.call("aten.unsqueeze.default", {a.ref(0), Dim(-1)});
  const ValueId classes = b.call("aten.arange.start_step", {Dim(0), count});
  return {to_dtype(b, b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{classes}}), Dtype::INT64)};
}

// self, indices, dim
Values take_along_dim(Builder& b, const Arguments& a) {
  if (!a.has(2)) {
    const Dim count = ir::numel(b.symbols(), a.tensor(0).sizes);
    const Dim indices = ir::numel(b.symbols(), a.tensor(1).sizes);
    const ValueId line = reshape(b, a.value(0), {count});
    return {
        b.call("aten.gather.default", {ValueRef{line}, Dim(0), ValueRef{reshape(b, a.value(1), {indices})}})};
  }
  // Sizes other than the dimension's broadcast.
  const size_t axis = a.axis(a.integer(2), a.tensor(0).rank());
  if (a.tensor(1).rank() != a.tensor(0).rank()) return {};
  Dims own = a.tensor(0).sizes, wanted = a.tensor(1).sizes;
  for (size_t i = 0; i < own.size(); ++i) {
    if (i == axis) continue;
    if (own[i].is(1)) own[i] = wanted[i];
    if (wanted[i].is(1)) wanted[i] = own[i];
  }
  const ValueId x = b.call("aten.expand.default", {a.ref(0), std::move(own)});
  const ValueId indices = b.call("aten.expand.default", {a.ref(1), std::move(wanted)});
  return {b.call("aten.gather.default", {ValueRef{x}, Dim(static_cast<int64_t>(axis)), ValueRef{indices}})};
}

// self, index: of the elements in a row.
Values take(Builder& b, const Arguments& a) {
  const ValueId line = reshape(b, a.value(0), {Dim(-1)});
  return {b.call("aten.index.Tensor", {ValueRef{line}, ir::ValueList{{a.value(1)}}})};
}

// elements, test_elements, assume_unique, invert
Values isin(Builder& b, const Arguments& a) {
  const ValueId column = b.call("aten.unsqueeze.default", {a.ref(0), Dim(-1)});
  const ValueId tests = reshape(b, a.value(1), {Dim(-1)});
  const ValueId equal = b.call("aten.eq.Tensor", {ValueRef{column}, ValueRef{tests}});
  const ValueId found = b.call("aten.any.dim", {ValueRef{equal}, Dim(-1)});
  return {a.flag(3) ? b.call("aten.logical_not.default", {ValueRef{found}}) : found};
}
Values isin_number(Builder& b, const Arguments& a) {
  return {b.call(a.flag(3) ? "aten.ne.Scalar" : "aten.eq.Scalar", {a.ref(0), a.argument(1)})};
}

// self, n, dim, prepend, append: differences of neighbours, n times.
Values diff(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(2);
  ValueId x = a.value(0);
  if (a.has(3) || a.has(4)) {
    ir::ValueList parts;
    if (a.has(3)) parts.ids.push_back(a.value(3));
    parts.ids.push_back(x);
    if (a.has(4)) parts.ids.push_back(a.value(4));
    x = b.call("aten.cat.default", {std::move(parts), Dim(dim)});
  }
  for (int64_t i = 0; i < a.integer(1); ++i) {
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
      {"aten.diff.default", diff},
      {"aten.index_add.default", index_add},
      {"aten.index_copy.default", index_copy},
      {"aten.index_fill.int_Scalar", index_fill_number},
      {"aten.index_fill.int_Tensor", index_fill_tensor},
      {"aten.isin.Tensor_Scalar", isin_number},
      {"aten.isin.Tensor_Tensor", isin},
      {"aten.one_hot.default", one_hot},
      {"aten.repeat_interleave.self_int", repeat_interleave},
      {"aten.take.default", take},
      {"aten.take_along_dim.default", take_along_dim},
  };
  return kRows;
}

}  // namespace etb::passes
