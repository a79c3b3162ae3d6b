// SPDX-License-Identifier: Apache-2.0
// torch_nn's chunked linear_cross_entropy: a linear layer and the loss of its classes. PyTorch computes it in chunks of
// rows, and the gradients with it where training needs them.
#include "ops/torch_nn/_linear_cross_entropy_batch_chunked.hpp"
#include "ops/torch_nn/_linear_cross_entropy_batch_chunked_no_reduction.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

template <class Reader>
using Chunked = ops::torch_nn::_linear_cross_entropy_batch_chunked_default<Reader>;
template <class Reader>
using ChunkedRows = ops::torch_nn::_linear_cross_entropy_batch_chunked_no_reduction_default<Reader>;

// One score for each row and class, in the dtype of the accumulation.
template <class A>
ValueId scores_of(Builder& b, const A& a) {
  const Dtype dtype = a.input().spec().dtype;
  const ValueId weight = to_dtype(b, a.linear_weight(), dtype);
  Argument bias = Nothing{};
  if (a.linear_bias().has_value()) bias = ValueRef{to_dtype(b, a.linear_bias(), dtype)};
  const ValueId scores = b.call("aten.linear.default", {a.input(), ValueRef{weight}, std::move(bias)});
  return to_dtype(b, scores, a.acc_dtype().value_or(dtype));
}

// The reduction is none (0), mean (1) or sum (2).
template <class A>
ValueId loss_of(Builder& b, const A& a, ValueId scores, int64_t reduction) {
  Argument weight = Nothing{};
  if (a.weight().has_value()) weight = ValueRef{to_dtype(b, a.weight(), b.spec(scores).dtype)};
  const ValueId loss =
      b.call("aten.cross_entropy_loss.default",
             {ValueRef{scores}, a.target(), std::move(weight), Dim(reduction), a.ignore_index()});
  return to_dtype(b, loss, a.input().spec().dtype);
}

// The derivative of the loss by the scores: softmax * sum(q) - q, where q are the weights of the logarithms in a row.
ValueId slope_of(Builder& b, const Chunked<Call>& a, ValueId scores, bool is_mean) {
  Arithmetic m(b);
  const TensorSpec spec = b.spec(scores);
  const Dim classes = spec.sizes.at(1);
  const ValueId counts = b.call("aten.ne.Scalar", {a.target(), a.ignore_index()});
  const ValueId safe = b.call("aten.where.ScalarOther", {ValueRef{counts}, a.target(), Dim(0)});
  const ValueId counted = to_dtype(b, counts, spec.dtype);
  ValueId shares = counted;
  if (a.weight().has_value()) {
    const ValueId weight = to_dtype(b, a.weight(), spec.dtype);
    shares = m.mul(counted, b.call("aten.index_select.default", {ValueRef{weight}, Dim(0), ValueRef{safe}}));
  }
  const ValueId all = b.call("aten.arange.start_step", {Dim(0), classes}, {{"dtype", Dtype::INT64}});
  const ValueId is_target = b.call("aten.eq.Tensor", {ValueRef{m.unsqueeze(safe, 1)}, ValueRef{all}});
  const ValueId q = m.mul(m.unsqueeze(shares, 1), to_dtype(b, is_target, spec.dtype));
  const ValueId softmax = b.call("aten.softmax.int", {ValueRef{scores}, Dim(1)});
  const ValueId slope = m.sub(m.mul(softmax, m.sum(q, {Dim(1)}, true)), q);
  return is_mean ? m.div(slope, m.sum(shares, {Dim(0)})) : slope;
}

// The loss and the gradients of input, weight and bias; a gradient that the call leaves out is empty.
Values chunked(Builder& b, const Chunked<Call>& a) {
  const TensorSpec in = a.input().spec();
  const std::string* text = a.reduction().find_text();
  const std::string name = text == nullptr ? "" : *text;
  if ((name != "mean" && name != "sum") || in.rank() != 2 || a.linear_weight().spec().rank() != 2) {
    a.fail("reduction '" + name + "' of an input of rank " + std::to_string(in.rank()) +
           ", expected mean or sum and rank 2");
    return {};
  }
  if (a.label_smoothing().number() != 0) {
    a.fail("label_smoothing is set, which PyTorch does not compute in chunks");
    return {};
  }
  Arithmetic m(b);
  const ValueId scores = scores_of(b, a);
  Values out{loss_of(b, a, scores, name == "mean" ? 1 : 2)};
  const bool of_input = a.compute_input_grad(), of_weight = a.compute_linear_weight_grad(),
             of_bias = a.compute_linear_bias_grad();
  const ValueId slope =
      of_input || of_weight || of_bias ? to_dtype(b, slope_of(b, a, scores, name == "mean"), in.dtype) : 0;
  const auto product = [&](ValueId first, ValueId second) {
    return b.call("aten.mm.default", {ValueRef{first}, ValueRef{second}});
  };
  out.push_back(of_input ? product(slope, to_dtype(b, a.linear_weight(), in.dtype))
                         : m.zeros({Dim(0), Dim(0)}, in.dtype));
  out.push_back(of_weight ? product(transpose(b, slope, 0, 1), a.input())
                          : m.zeros({Dim(0), Dim(0)}, in.dtype));
  out.push_back(of_bias ? m.sum(slope, {Dim(0)}) : m.zeros({Dim(0)}, in.dtype));
  return out;
}
Values chunked_rows(Builder& b, const ChunkedRows<Call>& a) { return {loss_of(b, a, scores_of(b, a), 0)}; }

}  // namespace

std::span<const Decomposition> linear_cross_entropy_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::torch_nn::_linear_cross_entropy_batch_chunked_default, chunked>(),
      row<ops::torch_nn::_linear_cross_entropy_batch_chunked_no_reduction_default, chunked_rows>(),
  };
  return kRows;
}

}  // namespace etb::passes
