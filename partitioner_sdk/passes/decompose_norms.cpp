// SPDX-License-Identifier: Apache-2.0
// Norms of vectors and matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/_weight_norm.hpp"
#include "ops/_weight_norm_interface.hpp"
#include "ops/linalg_matrix_norm.hpp"
#include "ops/linalg_norm.hpp"
#include "ops/linalg_vector_norm.hpp"
#include "ops/norm.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The p-norm over `dims` (none: all): the largest or smallest |x|, a count, or (sum |x|^p)^(1/p). Real
// numbers with an even order need no absolute value.
ValueId norm_of(Builder& b, ValueId x, double order, const Argument& dims, bool keeps_dims) {
  const auto magnitude = [&] { return b.call("aten.abs.default", {ValueRef{x}}); };
  if (std::isinf(order)) {
    const char* op = order > 0 ? "aten.amax.default" : "aten.amin.default";
    return b.call(op, {ValueRef{magnitude()}, dims, keeps_dims});
  }
  if (order == 0) {
    const ValueId is_there = b.call("aten.ne.Scalar", {ValueRef{x}, Dim(0)});
    return b.call("aten.sum.dim_IntList",
                  {ValueRef{to_dtype(b, is_there, ops::real_part(b.spec(x).dtype))}, dims, keeps_dims});
  }
  if (order == 1) return b.call("aten.sum.dim_IntList", {ValueRef{magnitude()}, dims, keeps_dims});
  const bool is_even = std::fmod(order, 2.0) == 0 && !ops::is_complex(b.spec(x).dtype);
  const Argument exponent = order == 2 ? Argument(Dim(2)) : Argument(order);
  const ValueId power = b.call("aten.pow.Tensor_Scalar", {ValueRef{is_even ? x : magnitude()}, exponent});
  const ValueId total = b.call("aten.sum.dim_IntList", {ValueRef{power}, dims, keeps_dims});
  return b.call("aten.pow.Tensor_Scalar", {ValueRef{total}, 1.0 / order});
}
Values vector_norm(Builder& b, const ops::linalg_vector_norm_default<Call>& a) {
  const Argument dims = a.dim().has_value() ? Argument(a.dim().dims()) : Argument(Dims{});
  const ValueId x = a.dtype().has_value() ? to_dtype(b, a.self(), *a.dtype().value()) : a.self();
  return {norm_of(b, x, a.ord().number(), dims, a.keepdim())};
}
Values norm_dim(Builder& b, const ops::norm_ScalarOpt_dim<Call>& a) {
  return {
      norm_of(b, a.self(), a.p().has_value() ? a.p().number() : 2.0, Argument(a.dim().dims()), a.keepdim())};
}
Values norm_dim_dtype(Builder& b, const ops::norm_ScalarOpt_dim_dtype<Call>& a) {
  const ValueId x = to_dtype(b, a.self(), a.dtype().value_or(a.self().spec().dtype));
  return {norm_of(b, x, a.p().has_value() ? a.p().number() : 2.0, Argument(a.dim().dims()), a.keepdim())};
}
Values norm_all(Builder& b, const ops::norm_Scalar<Call>& a) {
  return {norm_of(b, a.self(), a.p().has_value() ? a.p().number() : 2.0, Dims{}, false)};
}
// Scales v to length g; the norm is over all dimensions but `dim`.
template <class A>
Values weight_norm(Builder& b, const A& a) {
  const int64_t dim = a.dim().integer();
  const size_t rank = a.v().spec().rank();
  Dims others;
  for (size_t i = 0; i < rank; ++i) {
    if (dim == -1 || i != a.axis(dim, rank)) others.emplace_back(static_cast<int64_t>(i));
  }
  const ValueId length = norm_of(b, a.v(), 2.0, others, dim != -1);
  const ValueId scale = b.call("aten.div.Tensor", {a.g(), ValueRef{length}});
  return {b.call("aten.mul.Tensor", {a.v(), ValueRef{scale}}), length};
}

// True for matrices without elements, whose norms of positive order are 0.
bool are_empty(const TensorSpec& spec, size_t rows, size_t columns) {
  return spec.sizes[rows].is(0) || spec.sizes[columns].is(0);
}

// The sum of the singular values, or the largest or smallest of them. `op` reduces the last dimension.
Values spectral_norm(Builder& b, const Call& a, ValueId x, std::string_view op, const Dims& dims,
                     bool keeps_dims) {
  const size_t rank = b.spec(x).rank();
  const size_t rows = a.axis(dims[0].value(), rank), columns = a.axis(dims[1].value(), rank);
  if (rows >= rank || columns >= rank || rows == columns) return {};
  if (op != "aten.amin.default" && are_empty(b.spec(x), rows, columns))
    return {norm_of(b, x, 1, dims, keeps_dims)};
  Dims order;
  for (size_t i = 0; i < rank; ++i)
    if (i != rows && i != columns) order.emplace_back(static_cast<int64_t>(i));
  for (const size_t last : {rows, columns}) order.emplace_back(static_cast<int64_t>(last));
  const ValueId matrix = b.call("aten.permute.default", {ValueRef{x}, order});
  const ValueId out = b.call(op, {ValueRef{singular_values(b, matrix)}, Dims{Dim(-1)}});
  if (!keeps_dims) return {out};
  const auto first = static_cast<int64_t>(std::min(rows, columns)),
             second = static_cast<int64_t>(std::max(rows, columns));
  const ValueId half = b.call("aten.unsqueeze.default", {ValueRef{out}, Dim(first)});
  return {b.call("aten.unsqueeze.default", {ValueRef{half}, Dim(second)})};
}

// Orders 1 and -1: the largest or smallest column sum; infinite ones: row sums; 2 and -2: a singular value.
Values matrix_norm_of(Builder& b, const Call& a, ValueId x, double order, Dims dims, bool keeps_dims) {
  if (std::abs(order) == 2)
    return spectral_norm(b, a, x, order > 0 ? "aten.amax.default" : "aten.amin.default", dims, keeps_dims);
  if (std::abs(order) != 1 && !std::isinf(order)) {
    a.fail("a matrix norm of order " + std::to_string(order) + ", expected 1, -1, 2, -2, inf or -inf");
    return {};
  }
  const size_t rank = b.spec(x).rank();
  const size_t rows = a.axis(dims[0].value(), rank), columns = a.axis(dims[1].value(), rank);
  if (rows >= rank || columns >= rank || rows == columns) return {};
  if (order > 0 && are_empty(b.spec(x), rows, columns)) return {norm_of(b, x, 1, dims, keeps_dims)};
  const bool sums_rows = std::isinf(order);
  const Dim summed(static_cast<int64_t>(sums_rows ? columns : rows));
  const Dim chosen(static_cast<int64_t>(sums_rows ? rows : columns));
  const ValueId sums = norm_of(b, x, 1, Dims{summed}, true);
  // The largest of no sums is 0.
  if (order > 0 && b.spec(x).sizes[static_cast<size_t>(chosen.value())].is(0))
    return {norm_of(b, x, 1, Dims{summed, chosen}, keeps_dims)};
  const char* op = order > 0 ? "aten.amax.default" : "aten.amin.default";
  const ValueId out = b.call(op, {ValueRef{sums}, Dims{chosen}, true});
  return {keeps_dims ? out : b.call("aten.squeeze.dims", {ValueRef{out}, Dims{summed, chosen}})};
}

// The dimensions of a matrix norm: those given, or the only two.
template <class A>
Dims matrix_dims(const A& a, size_t rank) {
  const Dims given = a.dim().dims();
  if (given.size() == 2) return given;
  if (given.empty() && rank == 2) return {Dim(0), Dim(1)};
  a.fail(std::to_string(given.size()) + " dimensions of a tensor of rank " + std::to_string(rank) +
         ", expected two for the norm of a matrix");
  return {};
}

template <class A>
ValueId converted(Builder& b, const A& a) {
  return a.dtype().has_value() ? to_dtype(b, a.self(), *a.dtype().value()) : ValueId(a.self());
}

Values matrix_norm(Builder& b, const ops::linalg_matrix_norm_default<Call>& a) {
  const Dims dims = matrix_dims(a, a.self().spec().rank());
  if (dims.empty()) return {};
  return matrix_norm_of(b, a, converted(b, a), a.ord().number(), dims, a.keepdim());
}
template <class A>
Values named_matrix_norm(Builder& b, const A& a) {
  const auto* order = ir::get_if<std::string>(a.ord());
  if (order == nullptr || (*order != "fro" && *order != "nuc")) {
    a.fail("the order of the norm is '" + (order == nullptr ? std::string() : *order) +
           "', expected 'fro' or 'nuc'");
    return {};
  }
  const Dims dims = matrix_dims(a, a.self().spec().rank());
  if (dims.empty()) return {};
  if (*order == "nuc") return spectral_norm(b, a, converted(b, a), "aten.sum.dim_IntList", dims, a.keepdim());
  return {norm_of(b, converted(b, a), 2, dims, a.keepdim())};
}

// A vector norm without an order, for one dimension or for a vector; else a matrix norm.
Values linalg_norm(Builder& b, const ops::linalg_norm_default<Call>& a) {
  const ValueId x = converted(b, a);
  const size_t rank = b.spec(x).rank();
  const Dims dims = a.dim().has_value() ? a.dim().dims() : Dims{};
  const bool is_vector = dims.size() == 1 || (dims.empty() && rank <= 1);
  if (!a.ord().has_value() || is_vector)
    return {norm_of(b, x, a.ord().has_value() ? a.ord().number() : 2, dims, a.keepdim())};
  const Dims both = matrix_dims(a, rank);
  if (both.empty()) return {};
  return matrix_norm_of(b, a, x, a.ord().number(), both, a.keepdim());
}

}  // namespace

std::span<const Decomposition> norm_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_weight_norm_default, weight_norm>(),
      row<ops::_weight_norm_interface_default, weight_norm>(),
      row<ops::linalg_matrix_norm_default, matrix_norm>(),
      row<ops::linalg_matrix_norm_str_ord, named_matrix_norm<ops::linalg_matrix_norm_str_ord<Call>>>(),
      row<ops::linalg_norm_default, linalg_norm>(),
      row<ops::linalg_norm_ord_str, named_matrix_norm<ops::linalg_norm_ord_str<Call>>>(),
      row<ops::linalg_vector_norm_default, vector_norm>(),
      row<ops::norm_Scalar, norm_all>(),
      row<ops::norm_ScalarOpt_dim, norm_dim>(),
      row<ops::norm_ScalarOpt_dim_dtype, norm_dim_dtype>(),
  };
  return kRows;
}

}  // namespace etb::passes
