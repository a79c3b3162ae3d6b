// SPDX-License-Identifier: Apache-2.0
// Gradients of distances between rows. The slope of |d|_p along element i is sign(d_i) * (|d_i| / |d|_p)^(p - 1), and 0 for a
// distance of 0.
#include <cmath>

#include "ops/_cdist_backward.hpp"
#include "ops/_pdist_backward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

// `difference` is [..., M]; gradient and distance are [..., 1].
ValueId slope(Builder& b, ValueId grad, ValueId difference, ValueId distance, double p) {
  Arithmetic m(b);
  if (p == 0) return m.times(difference, 0);
  const ValueId sign = m.call("aten.sign.default", difference);
  if (p == 1) return m.mul(sign, grad);
  const ValueId magnitude = m.call("aten.abs.default", difference);
  if (std::isinf(p)) {
    const ValueId is_largest = b.call("aten.eq.Tensor", {ValueRef{magnitude}, ValueRef{distance}});
    return m.mul(m.mul(sign, is_largest), grad);
  }
  const ValueId is_zero = b.call("aten.eq.Scalar", {ValueRef{distance}, Dim(0)});
  const ValueId share =
      p == 2 ? m.div(difference, distance)
             : m.mul(sign, b.call("aten.pow.Tensor_Scalar", {ValueRef{m.div(magnitude, distance)}, p - 1}));
  // 0 to a negative power is infinite where two coordinates are equal.
  const ValueId finite =
      p < 1 ? m.zero_where(b.call("aten.eq.Scalar", {ValueRef{magnitude}, Dim(0)}), share) : share;
  return m.mul(m.zero_where(is_zero, finite), grad);
}

Values cdist(Builder& b, const ops::_cdist_backward_default<Call>& a) {
  const TensorSpec first = a.x1().spec(), second = a.x2().spec();
  if (first.rank() < 2 || second.rank() < 2 || !(a.p().number() >= 0)) return {};
  Arithmetic m(b);
  const ValueId difference = m.sub(m.unsqueeze(a.x1(), -2), m.unsqueeze(a.x2(), -3));
  const ValueId each =
      slope(b, m.unsqueeze(a.grad(), -1), difference, m.unsqueeze(a.cdist(), -1), a.p().number());
  return {m.sum(each, {Dim(-2)})};
}

// The distance of rows i < j is element i * n - i * (i + 1) / 2 + j - i - 1.
Values pdist(Builder& b, const ops::_pdist_backward_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  constexpr int64_t kMost = 1 << 12;
  if (in.rank() != 2 || !in.sizes[0].is_static() || in.sizes[0].value() > kMost || !(a.p().number() >= 0)) {
    a.fail("the number of rows is known only at run time, or more than " + std::to_string(kMost));
    return {};
  }
  std::vector<int64_t> lower, upper;
  for (int64_t i = 0; i < in.sizes[0].value(); ++i)
    for (int64_t j = i + 1; j < in.sizes[0].value(); ++j) {
      lower.push_back(i);
      upper.push_back(j);
    }
  Arithmetic m(b);
  const auto count = static_cast<int64_t>(lower.size());
  const ValueId first = add_elements(b, Dtype::INT64, {count}, lower),
                second = add_elements(b, Dtype::INT64, {count}, upper);
  const auto rows = [&](ValueId index) {
    return b.call("aten.index_select.default", {a.self(), Dim(0), ValueRef{index}});
  };
  const ValueId each = slope(b, m.unsqueeze(a.grad(), 1), m.sub(rows(first), rows(second)),
                             m.unsqueeze(a.pdist(), 1), a.p().number());
  const auto added = [&](ValueId sum, ValueId index, ValueId values) {
    return b.call("aten.index_add.default", {ValueRef{sum}, Dim(0), ValueRef{index}, ValueRef{values}});
  };
  const ValueId up = added(m.zeros(in.sizes, in.dtype), first, each);
  return {added(up, second, m.times(each, -1))};
}

}  // namespace

std::span<const Decomposition> distance_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_cdist_backward_default, cdist>(),
      row<ops::_pdist_backward_default, pdist>(),
  };
  return kRows;
}

}  // namespace etb::passes
