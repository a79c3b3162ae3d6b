// SPDX-License-Identifier: Apache-2.0
// The loss of classes with the weight that its mean divides by, and its gradient. Gradients of other losses are formulas.
#include "ops/nll_loss2d_backward.hpp"
#include "ops/nll_loss2d_forward.hpp"
#include "ops/nll_loss_backward.hpp"
#include "ops/nll_loss_forward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

constexpr int64_t kMean = 1;

// Classes along a dimension of size 1, 0 for those that do not count.
struct Classes {
  Dim dim;
  ValueId counts, index;
};
template <class A>
Classes classes_of(Builder& b, const A& a) {
  const Dim dim = a.self().spec().rank() < 2 ? 0 : 1;
  const ValueId target = b.call("aten.unsqueeze.default", {a.target(), dim});
  const ValueId counts = b.call("aten.ne.Scalar", {ValueRef{target}, a.ignore_index()});
  return {dim, counts, b.call("aten.where.ScalarOther", {ValueRef{counts}, ValueRef{target}, Dim(0)})};
}
// The weight of each class that counts, 0 for others, with the sizes of the index.
template <class A>
ValueId weights_of(Builder& b, const A& a, const Classes& classes) {
  if (!a.weight().has_value()) return to_dtype(b, classes.counts, a.self().spec().dtype);
  const ValueId flat = reshape(b, classes.index, {Dim(-1)});
  const ValueId picked = b.call("aten.index_select.default", {a.weight(), Dim(0), ValueRef{flat}});
  const ValueId shaped = reshape(b, picked, sizes_of(b, classes.index));
  return b.call("aten.where.ScalarOther", {ValueRef{classes.counts}, ValueRef{shaped}, Dim(0)});
}

template <class A>
Values nll_forward(Builder& b, const A& a) {
  const ValueId loss =
      b.call("aten.nll_loss_nd.default", {a.self(), a.target(), a.weight(), a.reduction(), a.ignore_index()});
  if (a.reduction().integer() == 0) return {loss, Arithmetic(b).zeros({}, a.self().spec().dtype)};
  return {loss, b.call("aten.sum.default", {ValueRef{weights_of(b, a, classes_of(b, a))}})};
}

// Minus the weight, at the place of the class.
template <class A>
Values nll_backward(Builder& b, const A& a) {
  Arithmetic m(b);
  const Classes classes = classes_of(b, a);
  ValueId grad = a.grad_output();
  const int64_t reduction = a.reduction().integer();
  if (reduction == kMean) grad = m.div(grad, a.total_weight());
  if (reduction == 0) grad = b.call("aten.unsqueeze.default", {ValueRef{grad}, classes.dim});
  const ValueId slope = m.times(m.mul(weights_of(b, a, classes), grad), -1);
  const ValueId zeros = m.zeros(a.self().spec().sizes, a.self().spec().dtype);
  return {
      b.call("aten.scatter.src", {ValueRef{zeros}, classes.dim, ValueRef{classes.index}, ValueRef{slope}})};
}

}  // namespace

std::span<const Decomposition> loss_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::nll_loss2d_backward_default, nll_backward>(),
      row<ops::nll_loss2d_forward_default, nll_forward>(),
      row<ops::nll_loss_backward_default, nll_backward>(),
      row<ops::nll_loss_forward_default, nll_forward>(),
  };
  return kRows;
}

}  // namespace etb::passes
