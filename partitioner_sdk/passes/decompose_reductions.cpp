// SPDX-License-Identifier: Apache-2.0
// Reductions and norms.
#include <cmath>
#include <limits>

#include "ops/_weight_norm.hpp"
#include "ops/_weight_norm_interface.hpp"
#include "ops/all.hpp"
#include "ops/argsort.hpp"
#include "ops/count_nonzero.hpp"
#include "ops/linalg_vector_norm.hpp"
#include "ops/logsumexp.hpp"
#include "ops/msort.hpp"
#include "ops/norm.hpp"
#include "ops/std.hpp"
#include "ops/std_mean.hpp"
#include "ops/sum.hpp"
#include "ops/var.hpp"
#include "ops/var_mean.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

template <class A>
Dims all_axes(const A& a) {
  Dims out;
  for (size_t i = 0; i < a.self().spec().rank(); ++i) out.emplace_back(static_cast<int64_t>(i));
  return out;
}

Values sum_all(Builder& b, const ops::sum_default<Call>& a) {
  return {b.call("aten.sum.dim_IntList", {a.self(), Dims{}, false}, {{"dtype", a.dtype()}})};
}

template <class A>
Values var_dim(Builder& b, const A& a) {
  const Dim correction = a.unbiased() ? 1 : 0;
  return {b.call("aten.var.correction", {a.self(), a.dim()},
                 {{"correction", correction}, {"keepdim", a.keepdim()}})};
}
Values std_dim(Builder& b, const ops::std_dim<Call>& a) {
  return {b.call("aten.sqrt.default", {ValueRef{var_dim(b, a).front()}})};
}
template <class A>
Values var_all(Builder& b, const A& a) {
  return {
      b.call("aten.var.correction", {a.self(), all_axes(a)}, {{"correction", Dim(a.unbiased() ? 1 : 0)}})};
}
Values std_correction(Builder& b, const ops::std_correction<Call>& a) {
  const ValueId variance = b.call("aten.var.correction", {a.self(), a.dim()},
                                  {{"correction", a.correction()}, {"keepdim", a.keepdim()}});
  return {b.call("aten.sqrt.default", {ValueRef{variance}})};
}

// The p-norm over `dims` (none: all): the largest or smallest |x|, a count, or (sum |x|^p)^(1/p). Even orders
// need no absolute value.
ValueId norm_of(Builder& b, ValueId x, double order, const Argument& dims, bool keeps_dims) {
  const auto magnitude = [&] { return b.call("aten.abs.default", {ValueRef{x}}); };
  if (std::isinf(order)) {
    const char* op = order > 0 ? "aten.amax.default" : "aten.amin.default";
    return b.call(op, {ValueRef{magnitude()}, dims, keeps_dims});
  }
  if (order == 0) {
    const ValueId is_there = b.call("aten.ne.Scalar", {ValueRef{x}, Dim(0)});
    return b.call("aten.sum.dim_IntList",
                  {ValueRef{to_dtype(b, is_there, b.spec(x).dtype)}, dims, keeps_dims});
  }
  if (order == 1) return b.call("aten.sum.dim_IntList", {ValueRef{magnitude()}, dims, keeps_dims});
  const bool is_even = std::fmod(order, 2.0) == 0;
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
template <class A>
Values var_mean_all(Builder& b, const A& a) {
  const ValueId variance = var_all(b, a).front();
  return {variance, b.call("aten.mean.dim", {a.self(), all_axes(a)})};
}
Values std_mean_all(Builder& b, const ops::std_mean_default<Call>& a) {
  const Values both = var_mean_all(b, a);
  return {b.call("aten.sqrt.default", {ValueRef{both[0]}}), both[1]};
}
Values argsort(Builder& b, const ops::argsort_default<Call>& a) {
  return {b.call_all("aten.sort.default", {a.self(), a.dim(), a.descending()}).back()};
}
Values argsort_stable(Builder& b, const ops::argsort_stable<Call>& a) {
  return {b.call_all("aten.sort.stable", {a.self()},
                     {{"stable", a.stable()}, {"dim", a.dim()}, {"descending", a.descending()}})
              .back()};
}
Values msort(Builder& b, const ops::msort_default<Call>& a) {
  return {b.call_all("aten.sort.default", {a.self(), Dim(0)}).front()};
}
template <class A>
Values count_nonzero(Builder& b, const A& a) {
  const ValueId is_there = b.call("aten.ne.Scalar", {a.self(), Dim(0)});
  const Argument dims = a.dim().has_value() ? Argument(a.dim().dims()) : Argument(Dims{});
  return {b.call("aten.sum.dim_IntList", {ValueRef{is_there}, dims})};
}

Values all_dim(Builder& b, const ops::all_dim<Call>& a) {
  const ValueId is_off = b.call("aten.logical_not.default", {a.self()});
  const ValueId some = b.call("aten.any.dim", {ValueRef{is_off}, a.dim(), a.keepdim()});
  return {b.call("aten.logical_not.default", {ValueRef{some}})};
}

// max(x) + log(sum(exp(x - max(x)))), with infinite maxima replaced by 0.
Values logsumexp(Builder& b, const ops::logsumexp_default<Call>& a) {
  const ValueId top = b.call("aten.amax.default", {a.self(), a.dim(), true});
  const ValueId is_infinite = b.call("aten.eq.Scalar", {ValueRef{b.call("aten.abs.default", {ValueRef{top}})},
                                                        std::numeric_limits<double>::infinity()});
  const ValueId zero = b.call("aten.scalar_tensor.default", {Dim(0)}, {{"dtype", a.self().spec().dtype}});
  const ValueId shift = b.call("aten.where.self", {ValueRef{is_infinite}, ValueRef{zero}, ValueRef{top}});
  const ValueId kept = a.keepdim() ? shift : b.call("aten.squeeze.dims", {ValueRef{shift}, a.dim()});
  const ValueId lowered = b.call("aten.sub.Tensor", {a.self(), ValueRef{shift}});
  const ValueId total =
      b.call("aten.sum.dim_IntList",
             {ValueRef{b.call("aten.exp.default", {ValueRef{lowered}})}, a.dim(), a.keepdim()});
  return {
      b.call("aten.add.Tensor", {ValueRef{b.call("aten.log.default", {ValueRef{total}})}, ValueRef{kept}})};
}

}  // namespace

std::span<const Decomposition> reduction_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_weight_norm_default, weight_norm>(),
      row<ops::_weight_norm_interface_default, weight_norm>(),
      row<ops::all_dim, all_dim>(),
      row<ops::argsort_default, argsort>(),
      row<ops::argsort_stable, argsort_stable>(),
      row<ops::count_nonzero_default, count_nonzero>(),
      row<ops::count_nonzero_dim_IntList, count_nonzero>(),
      row<ops::linalg_vector_norm_default, vector_norm>(),
      row<ops::logsumexp_default, logsumexp>(),
      row<ops::msort_default, msort>(),
      row<ops::norm_Scalar, norm_all>(),
      row<ops::norm_ScalarOpt_dim, norm_dim>(),
      row<ops::norm_ScalarOpt_dim_dtype, norm_dim_dtype>(),
      row<ops::std_correction, std_correction>(),
      row<ops::std_dim, std_dim>(),
      row<ops::std_mean_default, std_mean_all>(),
      row<ops::sum_default, sum_all>(),
      row<ops::var_default, var_all>(),
      row<ops::var_dim, var_dim>(),
      row<ops::var_mean_default, var_mean_all>(),
  };
  return kRows;
}

}  // namespace etb::passes
