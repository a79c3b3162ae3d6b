// SPDX-License-Identifier: Apache-2.0
// Losses that select classes; the other losses are formulas. Each term follows PyTorch.
#include "ops/cross_entropy_loss.hpp"
#include "ops/multi_margin_loss.hpp"
#include "ops/multilabel_margin_loss.hpp"
#include "ops/nll_loss.hpp"
#include "ops/nll_loss2d.hpp"
#include "ops/nll_loss_nd.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

ValueId reduced(Builder& b, ValueId loss, int64_t reduction) {
  const size_t rank = b.spec(loss).rank();
  if (reduction == 0 || rank == 0) return loss;
  Dims all;
  for (size_t i = 0; i < rank; ++i) all.emplace_back(static_cast<int64_t>(i));
  return b.call(reduction == 1 ? "aten.mean.dim" : "aten.sum.dim_IntList", {ValueRef{loss}, std::move(all)});
}

namespace {

ValueId zero_where_not(Builder& b, ValueId condition, ValueId value) {
  return b.call("aten.where.ScalarOther", {ValueRef{condition}, ValueRef{value}, Dim(0)});
}
ValueId total(Builder& b, ValueId value) { return b.call("aten.sum.default", {ValueRef{value}}); }

// Returns a tensor with one number per class, with the rank of [C] or [N, C, ...].
ValueId spread_classes(Builder& b, const TensorSpec& in, const infer::TensorArgument& weight) {
  Dims sizes(in.rank(), Dim(1));
  sizes[in.rank() < 2 ? 0 : 1] = weight.spec().sizes.at(0);
  return b.call("aten.view.default", {weight, std::move(sizes)});
}

// `self` holds log-probabilities, [C] or [N, C, ...].
template <class A>
Values nll_loss(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const Dim channels = in.rank() < 2 ? 0 : 1;
  const int64_t reduction = a.reduction().integer();
  const Argument ignored = a.ignore_index();
  ValueId scores = a.self();
  if (a.weight().has_value()) {
    const ValueId weight = spread_classes(b, in, a.weight());
    scores = b.call("aten.mul.Tensor", {ValueRef{scores}, ValueRef{weight}});
  }
  const ValueId counts = b.call("aten.ne.Scalar", {a.target(), ignored});
  const ValueId safe = zero_where_not(b, counts, a.target());
  const ValueId index = b.call("aten.unsqueeze.default", {ValueRef{safe}, channels});
  const ValueId picked = b.call("aten.gather.default", {ValueRef{scores}, channels, ValueRef{index}});
  const ValueId line = b.call("aten.squeeze.dim", {ValueRef{picked}, channels});
  const ValueId loss = zero_where_not(b, counts, b.call("aten.neg.default", {ValueRef{line}}));
  if (reduction != 1) return {reduced(b, loss, reduction)};
  ValueId divisor = 0;
  if (a.weight().has_value()) {
    const ValueId flat = reshape(b, safe, {Dim(-1)});
    const ValueId weights = b.call("aten.index_select.default", {a.weight(), Dim(0), ValueRef{flat}});
    divisor = total(b, zero_where_not(b, reshape(b, counts, {Dim(-1)}), weights));
  } else {
    divisor = to_dtype(b, total(b, counts), in.dtype);
  }
  return {b.call("aten.div.Tensor", {ValueRef{total(b, loss)}, ValueRef{divisor}})};
}

// The loss of a uniform label: minus the weighted sum of all log-probabilities.
ValueId uniform_loss(Builder& b, const ops::cross_entropy_loss_default<Call>& a, ValueId scores,
                     Dim channels) {
  const TensorSpec in = a.self().spec();
  const int64_t reduction = a.reduction().integer();
  if (a.weight().has_value()) {
    const ValueId weight = spread_classes(b, in, a.weight());
    scores = b.call("aten.mul.Tensor", {ValueRef{scores}, ValueRef{weight}});
  }
  const ValueId sum = b.call("aten.sum.dim_IntList", {ValueRef{scores}, Dims{channels}});
  const ValueId negative = b.call("aten.neg.default", {ValueRef{sum}});
  const ValueId ignored = b.call("aten.eq.Scalar", {a.target(), a.ignore_index()});
  const auto without_ignored = [&](ValueId value, Argument zero) {
    return b.call("aten.masked_fill.Scalar", {ValueRef{value}, ValueRef{ignored}, std::move(zero)});
  };
  const ValueId loss = without_ignored(negative, 0.0);
  if (reduction != 1) return reduced(b, loss, reduction);
  ValueId divisor = 0;
  if (a.weight().has_value()) {
    const ValueId flat = reshape(b, without_ignored(a.target(), Dim(0)), {Dim(-1)});
    const ValueId weights = b.call("aten.gather.default", {a.weight(), Dim(0), ValueRef{flat}});
    const ValueId flat_ignored = reshape(b, ignored, {Dim(-1)});
    divisor = total(b, b.call("aten.masked_fill.Scalar", {ValueRef{weights}, ValueRef{flat_ignored}, 0.0}));
  } else {
    divisor = total(b, b.call("aten.bitwise_not.default", {ValueRef{ignored}}));
  }
  return b.call("aten.div.Tensor", {ValueRef{total(b, loss)}, ValueRef{divisor}});
}

// The loss for labels that are probabilities, with each class's cost scaled by its weight.
Values soft_cross_entropy(Builder& b, const ops::cross_entropy_loss_default<Call>& a, ValueId scores,
                          Dim channels) {
  const TensorSpec in = a.self().spec();
  const Dim classes = in.sizes[channels.is(0) ? 0 : 1];
  ValueId target = a.target();
  if (const double smoothing = a.label_smoothing().number(); smoothing != 0) {
    const ValueId sharp = b.call("aten.mul.Scalar", {ValueRef{target}, 1 - smoothing});
    const double rest = smoothing / static_cast<double>(classes.value());
    target = b.call("aten.add.Scalar", {ValueRef{sharp}, rest});
  }
  ValueId products = b.call("aten.mul.Tensor", {ValueRef{scores}, ValueRef{target}});
  if (a.weight().has_value()) {
    const ValueId weight = spread_classes(b, in, a.weight());
    products = b.call("aten.mul.Tensor", {ValueRef{products}, ValueRef{weight}});
  }
  const int64_t reduction = a.reduction().integer();
  const ValueId sum = reduction == 0 ? b.call("aten.sum.dim_IntList", {ValueRef{products}, Dims{channels}})
                                     : total(b, products);
  const ValueId loss = b.call("aten.neg.default", {ValueRef{sum}});
  if (reduction != 1) return {loss};
  // The mean is over all dimensions but the classes.
  const Dim rows = b.symbols().floor_div(ir::numel(b.symbols(), in.sizes), classes);
  return {b.call("aten.div.Tensor", {ValueRef{loss}, rows})};
}

Values cross_entropy_loss(Builder& b, const ops::cross_entropy_loss_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  const Dim channels = in.rank() < 2 ? 0 : 1;
  const Dim classes = in.sizes.at(channels.is(0) ? 0 : 1);
  const double smoothing = a.label_smoothing().number();
  if (smoothing != 0 && !classes.is_static()) {
    a.fail("label_smoothing is set, but the number of classes is known only at run time");
    return {};
  }
  const ValueId scores = b.call("aten.log_softmax.int", {a.self(), channels, Nothing{}});
  if (ops::is_floating(a.target().spec().dtype)) return soft_cross_entropy(b, a, scores, channels);
  const ValueId loss = b.call("aten.nll_loss_nd.default",
                              {ValueRef{scores}, a.target(), a.weight(), a.reduction(), a.ignore_index()});
  if (smoothing == 0) return {loss};
  const ValueId uniform = uniform_loss(b, a, scores, channels);
  const ValueId share =
      b.call("aten.mul.Scalar", {ValueRef{uniform}, smoothing / static_cast<double>(classes.value())});
  const ValueId sharp = b.call("aten.mul.Scalar", {ValueRef{loss}, 1 - smoothing});
  return {b.call("aten.add.Tensor", {ValueRef{sharp}, ValueRef{share}})};
}

// The scores of a margin loss as [N, C], and the classes as [N, T].
struct Rows {
  ValueId scores, classes;
  Dim count;     // C
  bool is_line;  // the input had no N
};
template <class A>
Rows as_rows(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const bool is_line = in.rank() < 2;
  const Dims sizes = is_line ? Dims{Dim(1), in.rank() == 0 ? Dim(1) : in.sizes[0]} : in.sizes;
  return {reshape(b, a.self(), sizes), reshape(b, a.target(), {sizes[0], Dim(-1)}), sizes[1], is_line};
}
ValueId class_numbers(Builder& b, const Rows& rows) {
  return b.call("aten.arange.start_step", {Dim(0), rows.count}, {{"dtype", Dtype::INT64}});
}
Values reduced_rows(Builder& b, const Rows& rows, ValueId loss, int64_t reduction) {
  return {rows.is_line && reduction == 0 ? reshape(b, loss, {}) : reduced(b, loss, reduction)};
}

// max(0, margin - score of the class + other score)^p, the mean over all classes.
Values multi_margin_loss(Builder& b, const ops::multi_margin_loss_default<Call>& a) {
  const Rows rows = as_rows(b, a);
  const ValueId own = b.call("aten.gather.default", {ValueRef{rows.scores}, Dim(1), ValueRef{rows.classes}});
  const ValueId distance = b.call("aten.sub.Tensor", {a.margin(), ValueRef{own}});
  const ValueId sum = b.call("aten.add.Tensor", {ValueRef{distance}, ValueRef{rows.scores}});
  ValueId cost = b.call("aten.clamp.default", {ValueRef{sum}, Dim(0)});
  if (a.p().number() == 2) cost = b.call("aten.mul.Tensor", {ValueRef{cost}, ValueRef{cost}});
  if (a.weight().has_value()) {
    const ValueId flat = reshape(b, rows.classes, {Dim(-1)});
    const ValueId weights = b.call("aten.index_select.default", {a.weight(), Dim(0), ValueRef{flat}});
    cost = b.call("aten.mul.Tensor", {ValueRef{cost}, ValueRef{reshape(b, weights, {Dim(-1), Dim(1)})}});
  }
  const ValueId is_other =
      b.call("aten.ne.Tensor", {ValueRef{class_numbers(b, rows)}, ValueRef{rows.classes}});
  const ValueId loss = b.call("aten.mean.dim", {ValueRef{zero_where_not(b, is_other, cost)}, Dims{Dim(1)}});
  return reduced_rows(b, rows, loss, a.reduction().integer());
}

// Each row names its classes, up to the first -1. Every other class costs max(0, 1 - score of the class + its score).
Values multilabel_margin_loss(Builder& b, const ops::multilabel_margin_loss_default<Call>& a) {
  const Rows rows = as_rows(b, a);
  const ValueId numbers = class_numbers(b, rows);
  const ValueId is_end = b.call("aten.eq.Scalar", {ValueRef{rows.classes}, Dim(-1)});
  const ValueId ends = b.call("aten.where.ScalarOther", {ValueRef{is_end}, ValueRef{numbers}, rows.count});
  const ValueId end = b.call("aten.amin.default", {ValueRef{ends}, Dims{Dim(-1)}, true});
  const ValueId is_class = b.call("aten.lt.Tensor", {ValueRef{numbers}, ValueRef{end}});
  const auto classes_or = [&](int64_t number) {
    return b.call("aten.where.ScalarOther", {ValueRef{is_class}, ValueRef{rows.classes}, Dim(number)});
  };
  const auto along = [&](ValueId value, int64_t dim) {
    return ValueRef{b.call("aten.unsqueeze.default", {ValueRef{value}, Dim(dim)})};
  };
  const ValueId own =
      b.call("aten.gather.default", {ValueRef{rows.scores}, Dim(-1), ValueRef{classes_or(0)}});
  const ValueId equal = b.call("aten.eq.Tensor", {ValueRef{numbers}, along(classes_or(-1), -1)});
  const ValueId is_target = b.call("aten.any.dim", {ValueRef{equal}, Dim(1), true});
  const ValueId distance = b.call("aten.sub.Tensor", {1.0, along(own, -1)});
  const ValueId sum = b.call("aten.add.Tensor", {ValueRef{distance}, along(rows.scores, 1)});
  const ValueId cost = b.call("aten.clamp.default", {ValueRef{sum}, Dim(0)});
  const ValueId is_counted =
      b.call("aten.logical_and.default",
             {along(is_class, -1), ValueRef{b.call("aten.logical_not.default", {ValueRef{is_target}})}});
  const ValueId total_cost =
      b.call("aten.sum.dim_IntList", {ValueRef{zero_where_not(b, is_counted, cost)}, Dims{Dim(1), Dim(2)}});
  const ValueId loss = b.call("aten.div.Scalar", {ValueRef{total_cost}, rows.count});
  return reduced_rows(b, rows, loss, a.reduction().integer());
}

}  // namespace

std::span<const Decomposition> loss_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::cross_entropy_loss_default, cross_entropy_loss>(),
      row<ops::multi_margin_loss_default, multi_margin_loss>(),
      row<ops::multilabel_margin_loss_default, multilabel_margin_loss>(),
      row<ops::nll_loss_default, nll_loss>(),
      row<ops::nll_loss2d_default, nll_loss>(),
      row<ops::nll_loss_nd_default, nll_loss>(),
  };
  return kRows;
}

}  // namespace etb::passes
