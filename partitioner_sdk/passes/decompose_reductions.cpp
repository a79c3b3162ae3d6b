// SPDX-License-Identifier: Apache-2.0
// Reductions and norms.
#include <cmath>
#include <limits>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Dims all_axes(const Arguments& a) {
  Dims out;
  for (size_t i = 0; i < a.tensor(0).rank(); ++i) out.emplace_back(static_cast<int64_t>(i));
  return out;
}

Values sum_all(Builder& b, const Arguments& a) {
  return {b.call("aten.sum.dim_IntList", {a.argument(0), Dims{}, false}, {{"dtype", a.argument(1)}})};
}

// self, dim, unbiased, keepdim
Values var_dim(Builder& b, const Arguments& a) {
  const Dim correction = a.flag(2) ? 1 : 0;
  return {b.call("aten.var.correction", {a.argument(0), a.argument(1)},
                 {{"correction", correction}, {"keepdim", a.argument(3)}})};
}
Values std_dim(Builder& b, const Arguments& a) {
  return {b.call("aten.sqrt.default", {ValueRef{var_dim(b, a).front()}})};
}
Values var_all(Builder& b, const Arguments& a) {
  return {
      b.call("aten.var.correction", {a.argument(0), all_axes(a)}, {{"correction", Dim(a.flag(1) ? 1 : 0)}})};
}
Values std_correction(Builder& b, const Arguments& a) {
  const ValueId variance = b.call("aten.var.correction", {a.argument(0), a.argument(1)},
                                  {{"correction", a.argument(2)}, {"keepdim", a.argument(3)}});
  return {b.call("aten.sqrt.default", {ValueRef{variance}})};
}

// The p-norm over `dims` (none: all): the largest or smallest |x|, a count, or (sum |x|^p)^(1/p). Even orders need no absolute
// value.
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
// self, ord, dim, keepdim, dtype
Values vector_norm(Builder& b, const Arguments& a) {
  const Argument dims = a.has(2) ? Argument(a.dims(2)) : Argument(Dims{});
  const ValueId x = a.has(4) ? to_dtype(b, a.value(0), *a.dtype(4)) : a.value(0);
  return {norm_of(b, x, a.number(1), dims, a.flag(3))};
}
// self, p, dim, keepdim, dtype
Values norm_dim(Builder& b, const Arguments& a) {
  const ValueId x = a.argument_count() > 4 ? to_dtype(b, a.value(0), *a.dtype(4)) : a.value(0);
  return {norm_of(b, x, a.has(1) ? a.number(1) : 2.0, Argument(a.dims(2)), a.flag(3))};
}
Values norm_all(Builder& b, const Arguments& a) {
  return {norm_of(b, a.value(0), a.has(1) ? a.number(1) : 2.0, Dims{}, false)};
}
// v, g, dim: v at length g, measured over all dimensions but `dim`.
Values weight_norm(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(2);
  const size_t rank = a.tensor(0).rank();
  Dims others;
  for (size_t i = 0; i < rank; ++i) {
    if (dim == -1 || i != a.axis(dim, rank)) others.emplace_back(static_cast<int64_t>(i));
  }
  const ValueId length = norm_of(b, a.value(0), 2.0, others, dim != -1);
  const ValueId scale = b.call("aten.div.Tensor", {a.argument(1), ValueRef{length}});
  return {b.call("aten.mul.Tensor", {a.argument(0), ValueRef{scale}}), length};
}
Values var_mean_all(Builder& b, const Arguments& a) {
  const ValueId variance = var_all(b, a).front();
  return {variance, b.call("aten.mean.dim", {a.argument(0), all_axes(a)})};
}
Values std_mean_all(Builder& b, const Arguments& a) {
  const Values both = var_mean_all(b, a);
  return {b.call("aten.sqrt.default", {ValueRef{both[0]}}), both[1]};
}
// self, dim, descending
Values argsort(Builder& b, const Arguments& a) {
  return {b.call_all("aten.sort.default", {a.argument(0), a.argument(1), a.argument(2)}).back()};
}
// self, stable, dim, descending
Values argsort_stable(Builder& b, const Arguments& a) {
  return {b.call_all("aten.sort.stable", {a.argument(0)},
                     {{"stable", a.argument(1)}, {"dim", a.argument(2)}, {"descending", a.argument(3)}})
              .back()};
}
Values msort(Builder& b, const Arguments& a) {
  return {b.call_all("aten.sort.default", {a.argument(0), Dim(0)}).front()};
}
Values count_nonzero(Builder& b, const Arguments& a) {
  const ValueId is_there = b.call("aten.ne.Scalar", {a.argument(0), Dim(0)});
  const Argument dims = a.has(1) ? Argument(a.dims(1)) : Argument(Dims{});
  return {b.call("aten.sum.dim_IntList", {ValueRef{is_there}, dims})};
}

Values all_dim(Builder& b, const Arguments& a) {
  const ValueId is_off = b.call("aten.logical_not.default", {a.argument(0)});
  const ValueId some = b.call("aten.any.dim", {ValueRef{is_off}, a.argument(1), a.argument(2)});
  return {b.call("aten.logical_not.default", {ValueRef{some}})};
}

// max(x) + log(sum(exp(x - max(x)))), with infinite maxima taken as 0.
Values logsumexp(Builder& b, const Arguments& a) {
  const ValueId top = b.call("aten.amax.default", {a.argument(0), a.argument(1), true});
  const ValueId is_infinite = b.call("aten.eq.Scalar", {ValueRef{b.call("aten.abs.default", {ValueRef{top}})},
                                                        std::numeric_limits<double>::infinity()});
  const ValueId zero = b.call("aten.scalar_tensor.default", {Dim(0)}, {{"dtype", a.tensor(0).dtype}});
  const ValueId shift = b.call("aten.where.self", {ValueRef{is_infinite}, ValueRef{zero}, ValueRef{top}});
  const ValueId kept = a.flag(2) ? shift : b.call("aten.squeeze.dims", {ValueRef{shift}, a.argument(1)});
  const ValueId lowered = b.call("aten.sub.Tensor", {a.argument(0), ValueRef{shift}});
  const ValueId total =
      b.call("aten.sum.dim_IntList",
             {ValueRef{b.call("aten.exp.default", {ValueRef{lowered}})}, a.argument(1), a.argument(2)});
  return {
      b.call("aten.add.Tensor", {ValueRef{b.call("aten.log.default", {ValueRef{total}})}, ValueRef{kept}})};
}

}  // namespace

std::span<const Decomposition> reduction_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten._weight_norm.default", weight_norm},
      {"aten._weight_norm_interface.default", weight_norm},
      {"aten.all.dim", all_dim},
      {"aten.argsort.default", argsort},
      {"aten.argsort.stable", argsort_stable},
      {"aten.count_nonzero.default", count_nonzero},
      {"aten.count_nonzero.dim_IntList", count_nonzero},
      {"aten.linalg_vector_norm.default", vector_norm},
      {"aten.logsumexp.default", logsumexp},
      {"aten.msort.default", msort},
      {"aten.norm.Scalar", norm_all},
      {"aten.norm.ScalarOpt_dim", norm_dim},
      {"aten.norm.ScalarOpt_dim_dtype", norm_dim},
      {"aten.std.correction", std_correction},
      {"aten.std.dim", std_dim},
      {"aten.std_mean.default", std_mean_all},
      {"aten.sum.default", sum_all},
      {"aten.var.default", var_all},
      {"aten.var.dim", var_dim},
      {"aten.var_mean.default", var_mean_all},
  };
  return kRows;
}

}  // namespace etb::passes
