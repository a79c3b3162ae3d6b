// SPDX-License-Identifier: Apache-2.0
// Gradients of activations that are no formulas.
#include <cmath>
#include <numbers>

#include "ops/gelu_backward.hpp"
#include "ops/glu_backward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

// The slope of x * P(x), P the normal distribution.
ValueId exact_slope(Builder& b, ValueId x) {
  Arithmetic m(b);
  const ValueId share =
      m.times(m.plus(m.call("aten.erf.default", m.times(x, std::numbers::sqrt2 / 2)), 1), 0.5);
  const ValueId bell = m.call("aten.exp.default", m.times(m.mul(x, x), -0.5));
  const double height = 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2;
  return m.add(share, m.mul(x, m.times(bell, height)));
}
// The slope of x/2 * (1 + tanh(k * (x + 0.044715 x^3))).
ValueId tanh_slope(Builder& b, ValueId x) {
  Arithmetic m(b);
  constexpr double kCube = 0.044715, kFactor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const ValueId square = m.mul(x, x);
  const ValueId inner = m.times(m.mul(x, m.plus(m.times(square, kCube), 1)), kFactor);
  const ValueId t = m.call("aten.tanh.default", inner);
  const ValueId share = m.times(m.plus(t, 1), 0.5);
  const ValueId steepness = m.plus(m.times(m.mul(t, t), -1), 1);
  const ValueId inner_slope = m.times(m.plus(m.times(square, 3 * kCube), 1), kFactor);
  return m.add(share, m.times(m.mul(m.mul(x, steepness), inner_slope), 0.5));
}
Values gelu(Builder& b, const ops::gelu_backward_default<Call>& a) {
  const std::string* mode = a.approximate().find_text();
  const bool is_tanh = mode != nullptr && *mode == "tanh";
  if (mode != nullptr && !is_tanh && *mode != "none") {
    a.fail("approximate is '" + *mode + "', expected 'none' or 'tanh'");
    return {};
  }
  const Dtype dtype = a.self().spec().dtype;
  const ValueId x = to_dtype(b, a.self(), wide_dtype(dtype));
  const ValueId slope = is_tanh ? tanh_slope(b, x) : exact_slope(b, x);
  return {to_dtype(b, Arithmetic(b).mul(to_dtype(b, a.grad_output(), wide_dtype(dtype)), slope), dtype)};
}

// glu multiplies one half of a dimension by the sigmoid of the other half.
Values glu(Builder& b, const ops::glu_backward_default<Call>& a) {
  Arithmetic m(b);
  const TensorSpec in = a.self().spec();
  if (in.rank() == 0) return {};
  const Dim dim(static_cast<int64_t>(a.axis(a.dim().integer(), in.rank())));
  const Dim half = b.symbols().floor_div(in.sizes[static_cast<size_t>(dim.value())], Dim(2));
  const auto part = [&](Argument begin, Argument end) {
    return b.call("aten.slice.Tensor", {a.self(), dim, std::move(begin), std::move(end)});
  };
  const ValueId value = part(Dim(0), half), gate = m.call("aten.sigmoid.default", part(half, Nothing{}));
  const ValueId of_value = m.mul(a.grad_output(), gate);
  const ValueId closed = m.plus(m.times(gate, -1), 1);
  const ValueId of_gate = m.mul(m.mul(of_value, value), closed);
  return {b.call("aten.cat.default", {ir::ValueList{{of_value, of_gate}}, dim})};
}

}  // namespace

std::span<const Decomposition> activation_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::gelu_backward_default, gelu>(),
      row<ops::glu_backward_default, glu>(),
  };
  return kRows;
}

}  // namespace etb::passes
