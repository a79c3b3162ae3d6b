// SPDX-License-Identifier: Apache-2.0
// Order statistics: quantiles, and medians that ignore NaN. A sort, then the elements at computed ranks.
#include "ops/kthvalue.hpp"
#include "ops/nanmedian.hpp"
#include "ops/nanquantile.hpp"
#include "ops/quantile.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

// The tensor sorted along its last dimension, NaN last.
struct Sorted {
  ValueId values, indices;
};
Sorted sorted_last(Builder& b, ValueId x) {
  const std::vector<ValueId> out = b.call_all("aten.sort.default", {ValueRef{x}, Dim(-1)});
  return {out[0], out[1]};
}

// Number of elements of the last dimension that are not NaN, with size 1.
ValueId count_numbers(Builder& b, ValueId x) {
  const ValueId is_number =
      b.call("aten.logical_not.default", {ValueRef{b.call("aten.isnan.default", {ValueRef{x}})}});
  return b.call("aten.sum.dim_IntList", {ValueRef{is_number}, Dims{Dim(-1)}, true});
}

// Moves dimension `dim` to the end; without a dimension all elements become one line.
template <class A>
ValueId with_dim_last(Builder& b, const A& a) {
  if (!a.dim().has_value()) return reshape(b, a.self(), {Dim(-1)});
  const TensorSpec in = a.self().spec();
  if (in.rank() == 0) return reshape(b, a.self(), {Dim(1)});
  return transpose(b, a.self(), static_cast<int64_t>(a.axis(a.dim().integer(), in.rank())),
                   static_cast<int64_t>(in.rank()) - 1);
}

// Ranks of the quantiles `q` in each line: a float, [..., k].
ValueId ranks_of(Builder& b, ValueId x, ValueId q, bool ignores_nan) {
  const TensorSpec line = b.spec(x);
  const auto times = [&](ValueId last) {
    return b.call("aten.mul.Tensor", {ValueRef{q}, ValueRef{to_dtype(b, last, line.dtype)}});
  };
  if (ignores_nan) {
    const ValueId last = b.call("aten.sub.Scalar", {ValueRef{count_numbers(b, x)}, Dim(1)});
    return b.call("aten.clamp.default", {ValueRef{times(last)}, Dim(0)});
  }
  const Dim last = b.symbols().sub(line.sizes.back(), 1);
  const ValueId last_rank = b.call("aten.scalar_tensor.default", {last}, {{"dtype", line.dtype}});
  // A line with NaN has NaN everywhere: its last element.
  const ValueId has_nan =
      b.call("aten.any.dim", {ValueRef{b.call("aten.isnan.default", {ValueRef{x}})}, Dim(-1), true});
  return b.call("aten.where.self", {ValueRef{has_nan}, ValueRef{last_rank}, ValueRef{times(last_rank)}});
}

template <class A>
Values quantiles(Builder& b, const A& a, ValueId q, bool ignores_nan) {
  const TensorSpec in = a.self().spec();
  const size_t q_rank = b.spec(q).rank();
  const std::string* interpolation = a.interpolation().find_text();
  const std::string way = interpolation == nullptr ? "linear" : *interpolation;
  const ValueId x = with_dim_last(b, a);
  ValueId rank = ranks_of(b, x, reshape(b, q, {Dim(-1)}), ignores_nan);
  if (way == "lower") rank = b.call("aten.floor.default", {ValueRef{rank}});
  if (way == "higher") rank = b.call("aten.ceil.default", {ValueRef{rank}});
  if (way == "nearest") rank = b.call("aten.round.default", {ValueRef{rank}});
  const ValueId sorted = sorted_last(b, x).values;
  const auto at = [&](ValueId place) {
    return b.call("aten.gather.default",
                  {ValueRef{sorted}, Dim(-1), ValueRef{to_dtype(b, place, Dtype::INT64)}});
  };
  const ValueId below = b.call("aten.floor.default", {ValueRef{rank}});
  ValueId out = at(below);
  if (way == "linear" || way == "midpoint") {
    const ValueId above = at(b.call("aten.ceil.default", {ValueRef{rank}}));
    const Argument weight =
        way == "midpoint" ? Argument(0.5)
                          : Argument(ValueRef{b.call("aten.sub.Tensor", {ValueRef{rank}, ValueRef{below}})});
    out = b.call(way == "midpoint" ? "aten.lerp.Scalar" : "aten.lerp.Tensor",
                 {ValueRef{out}, ValueRef{above}, weight});
  }
  // [..., k] has k in place of the reduced dimension. k becomes the first dimension of the result.
  const size_t rank_of_line = b.spec(x).rank();
  if (a.dim().has_value() && in.rank() > 0) {
    const ValueId lines = b.call("aten.unsqueeze.default", {ValueRef{out}, Dim(0)});  // [1, ..., k]
    out = transpose(b, lines, 0, static_cast<int64_t>(rank_of_line));                 // [k, ..., 1]
    const auto axis = static_cast<int64_t>(a.axis(a.dim().integer(), in.rank())) + 1;
    out = transpose(b, out, axis, static_cast<int64_t>(rank_of_line));
    if (!a.keepdim()) out = b.call("aten.squeeze.dims", {ValueRef{out}, Dims{Dim(axis)}});
  } else if (a.keepdim()) {
    Dims sizes(in.rank() + 1, Dim(1));
    sizes[0] = b.spec(out).sizes.back();
    out = reshape(b, out, std::move(sizes));
  }
  if (q_rank == 0) out = b.call("aten.squeeze.dims", {ValueRef{out}, Dims{Dim(0)}});
  return {out};
}

template <bool kIgnoresNan, class A>
Values quantile(Builder& b, const A& a) {
  return quantiles(b, a, a.q(), kIgnoresNan);
}
template <bool kIgnoresNan, class A>
Values quantile_of_number(Builder& b, const A& a) {
  const ValueId q = b.call("aten.scalar_tensor.default", {a.q()}, {{"dtype", a.self().spec().dtype}});
  return quantiles(b, a, q, kIgnoresNan);
}

// The lower one of two middle elements.
Sorted middle_number(Builder& b, ValueId x) {
  const Sorted sorted = sorted_last(b, x);
  const ValueId last = b.call("aten.sub.Scalar", {ValueRef{count_numbers(b, x)}, Dim(1)});
  const ValueId half =
      b.call("aten.div.Scalar_mode", {ValueRef{last}, Dim(2)}, {{"rounding_mode", std::string("floor")}});
  const ValueId at = b.call("aten.clamp.default", {ValueRef{half}, Dim(0)});
  const auto pick = [&](ValueId from) {
    return b.call("aten.gather.default", {ValueRef{from}, Dim(-1), ValueRef{at}});
  };
  return {pick(sorted.values), pick(sorted.indices)};
}

Values nanmedian(Builder& b, const ops::nanmedian_default<Call>& a) {
  return {reshape(b, middle_number(b, reshape(b, a.self(), {Dim(-1)})).values, {})};
}
Values nanmedian_dim(Builder& b, const ops::nanmedian_dim<Call>& a) {
  const TensorSpec in = a.self().spec();
  const Sorted middle = middle_number(b, with_dim_last(b, a));
  const auto placed = [&](ValueId value) {
    if (in.rank() == 0) return reshape(b, value, {});
    const auto axis = static_cast<int64_t>(a.axis(a.dim().integer(), in.rank()));
    value = transpose(b, value, axis, static_cast<int64_t>(in.rank()) - 1);
    return a.keepdim() ? value : b.call("aten.squeeze.dims", {ValueRef{value}, Dims{Dim(axis)}});
  };
  return {placed(middle.values), placed(middle.indices)};
}

// The k-th smallest element of each line, and its index.
Values kthvalue(Builder& b, const ops::kthvalue_default<Call>& a) {
  const bool is_number = a.self().spec().rank() == 0;
  const ValueId x = is_number ? reshape(b, a.self(), {Dim(1)}) : ValueId(a.self());
  const int64_t k = a.k().integer();
  if (k < 1) {
    a.fail("k is " + std::to_string(k) + ", expected at least 1");
    return {};
  }
  Values out = b.call_all("aten.sort.default", {ValueRef{x}, a.dim()});
  for (ValueId& one : out) {
    one = b.call("aten.slice.Tensor", {ValueRef{one}, a.dim(), Dim(k - 1), Dim(k)});
    if (is_number || !a.keepdim()) one = b.call("aten.squeeze.dims", {ValueRef{one}, Dims{a.dim().dim()}});
  }
  return out;
}

}  // namespace

std::span<const Decomposition> order_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::kthvalue_default, kthvalue>(),
      row<ops::nanmedian_default, nanmedian>(),
      row<ops::nanmedian_dim, nanmedian_dim>(),
      row<ops::nanquantile_default, quantile<true>>(),
      row<ops::nanquantile_scalar, quantile_of_number<true>>(),
      row<ops::quantile_default, quantile<false>>(),
      row<ops::quantile_scalar, quantile_of_number<false>>(),
  };
  return kRows;
}

}  // namespace etb::passes
