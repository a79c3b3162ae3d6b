// SPDX-License-Identifier: Apache-2.0
// Reductions.
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/all.hpp"
#include "ops/argsort.hpp"
#include "ops/count_nonzero.hpp"
#include "ops/cumulative_trapezoid.hpp"
#include "ops/logsumexp.hpp"
#include "ops/msort.hpp"
#include "ops/mvlgamma.hpp"
#include "ops/std.hpp"
#include "ops/std_mean.hpp"
#include "ops/sum.hpp"
#include "ops/trapezoid.hpp"
#include "ops/trapz.hpp"
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
  const ValueId out = b.call("aten.logical_not.default", {ValueRef{some}});
  // The one integer dtype that PyTorch keeps.
  return {a.self().spec().dtype == Dtype::UINT8 ? to_dtype(b, out, Dtype::UINT8) : out};
}

// max(x) + log(sum(exp(x - max(x)))), with infinite maxima replaced by 0.
Values logsumexp(Builder& b, const ops::logsumexp_default<Call>& a) {
  const Dtype dtype = a.self().spec().dtype;
  const ValueId self = ops::is_floating(dtype) ? ValueId(a.self()) : to_dtype(b, a.self(), Dtype::FLOAT32);
  const ValueId top = b.call("aten.amax.default", {ValueRef{self}, a.dim(), true});
  const ValueId is_infinite = b.call("aten.eq.Scalar", {ValueRef{b.call("aten.abs.default", {ValueRef{top}})},
                                                        std::numeric_limits<double>::infinity()});
  const ValueId zero = b.call("aten.scalar_tensor.default", {Dim(0)}, {{"dtype", b.spec(self).dtype}});
  const ValueId shift = b.call("aten.where.self", {ValueRef{is_infinite}, ValueRef{zero}, ValueRef{top}});
  const ValueId kept = a.keepdim() ? shift : b.call("aten.squeeze.dims", {ValueRef{shift}, a.dim()});
  const ValueId lowered = b.call("aten.sub.Tensor", {ValueRef{self}, ValueRef{shift}});
  const ValueId total =
      b.call("aten.sum.dim_IntList",
             {ValueRef{b.call("aten.exp.default", {ValueRef{lowered}})}, a.dim(), a.keepdim()});
  return {
      b.call("aten.add.Tensor", {ValueRef{b.call("aten.log.default", {ValueRef{total}})}, ValueRef{kept}})};
}

// log of the multivariate gamma function: a sum of p logarithms of gamma.
Values mvlgamma(Builder& b, const ops::mvlgamma_default<Call>& a) {
  const int64_t p = a.p().integer();
  if (p < 1 || p > 1000) {
    a.fail("p is " + std::to_string(p) + ", expected 1 to 1000");
    return {};
  }
  const Dtype in = a.self().spec().dtype, dtype = ops::is_floating(in) ? in : Dtype::FLOAT32;
  std::vector<double> steps;
  for (int64_t i = 1 - p; i <= 0; ++i) steps.push_back(static_cast<double>(i) / 2);
  const ValueId shifts = to_dtype(b, add_elements(b, Dtype::FLOAT64, {p}, steps), dtype);
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{to_dtype(b, a.self(), dtype)}, Dim(-1)});
  const ValueId logs = b.call("aten.lgamma.default",
                              {ValueRef{b.call("aten.add.Tensor", {ValueRef{column}, ValueRef{shifts}})}});
  const ValueId total = b.call("aten.sum.dim_IntList", {ValueRef{logs}, Dims{Dim(-1)}});
  const double constant = static_cast<double>(p * (p - 1)) / 4 * std::log(std::numbers::pi);
  return {b.call("aten.add.Scalar", {ValueRef{total}, constant})};
}

// True if x has the dimension that y is integrated along.
template <class A>
bool has_places(const A& a) {
  const size_t rank = a.y().spec().rank(), own = a.x().spec().rank();
  if (rank > 0 && own > 0 && own <= rank && (own == 1 || a.axis(a.dim().integer(), rank) >= rank - own))
    return true;
  a.fail("y of rank " + std::to_string(rank) + " at places x of rank " + std::to_string(own) +
         ", expected a vector or the dimensions of y");
  return false;
}

// Twice the areas between neighbours along `dim`: (y1 + y0) (x1 - x0). A vector x belongs to that dimension.
template <class A>
ValueId trapezoids(Builder& b, const A& a) {
  const TensorSpec in = a.y().spec();
  const int64_t dim = static_cast<int64_t>(a.axis(a.dim().integer(), in.rank()));
  const auto part = [&](ValueId of, bool is_later) {
    const TensorSpec spec = b.spec(of);
    const int64_t axis = dim - static_cast<int64_t>(in.rank() - spec.rank());
    const Dim size = spec.sizes[static_cast<size_t>(axis)];
    return ValueRef{b.call("aten.slice.Tensor", {ValueRef{of}, Dim(axis), Dim(is_later ? 1 : 0),
                                                 is_later ? size : b.symbols().sub(size, 1)})};
  };
  ValueId x = a.x();
  if (a.x().spec().rank() == 1 && in.rank() > 1) {
    Dims sizes(in.rank() - static_cast<size_t>(dim), Dim(1));
    sizes[0] = Dim(-1);
    x = reshape(b, x, std::move(sizes));
  }
  const ValueId widths = b.call("aten.sub.Tensor", {part(x, true), part(x, false)});
  const ValueId heights = b.call("aten.add.Tensor", {part(a.y(), true), part(a.y(), false)});
  return b.call("aten.mul.Tensor", {ValueRef{heights}, ValueRef{widths}});
}
template <class A>
Values trapezoid(Builder& b, const A& a) {
  if (!has_places(a)) return {};
  const ValueId sum = b.call("aten.sum.dim_IntList", {ValueRef{trapezoids(b, a)}, Dims{a.dim().dim()}});
  return {b.call("aten.div.Tensor", {ValueRef{sum}, 2.0})};
}
Values cumulative_trapezoid(Builder& b, const ops::cumulative_trapezoid_x<Call>& a) {
  if (!has_places(a)) return {};
  const ValueId sums = b.call("aten.cumsum.default", {ValueRef{trapezoids(b, a)}, a.dim()});
  return {b.call("aten.div.Tensor", {ValueRef{sums}, 2.0})};
}

}  // namespace

std::span<const Decomposition> reduction_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::all_dim, all_dim>(),
      row<ops::argsort_default, argsort>(),
      row<ops::argsort_stable, argsort_stable>(),
      row<ops::count_nonzero_default, count_nonzero>(),
      row<ops::count_nonzero_dim_IntList, count_nonzero>(),
      row<ops::cumulative_trapezoid_x, cumulative_trapezoid>(),
      row<ops::logsumexp_default, logsumexp>(),
      row<ops::msort_default, msort>(),
      row<ops::mvlgamma_default, mvlgamma>(),
      row<ops::std_correction, std_correction>(),
      row<ops::std_dim, std_dim>(),
      row<ops::std_mean_default, std_mean_all>(),
      row<ops::sum_default, sum_all>(),
      row<ops::trapezoid_x, trapezoid>(),
      row<ops::trapz_x, trapezoid>(),
      row<ops::var_default, var_all>(),
      row<ops::var_dim, var_dim>(),
      row<ops::var_mean_default, var_mean_all>(),
  };
  return kRows;
}

}  // namespace etb::passes
