// SPDX-License-Identifier: Apache-2.0
// Gradients of ops that pick elements or rows by index: the gradient of each result is added where the result came from.
#include "ops/_embedding_bag_backward.hpp"
#include "ops/_embedding_bag_dense_backward.hpp"
#include "ops/_embedding_bag_per_sample_weights_backward.hpp"
#include "ops/adaptive_max_pool2d_backward.hpp"
#include "ops/adaptive_max_pool3d_backward.hpp"
#include "ops/diagonal_backward.hpp"
#include "ops/embedding_dense_backward.hpp"
#include "ops/fractional_max_pool2d_backward.hpp"
#include "ops/fractional_max_pool3d_backward.hpp"
#include "ops/max_pool3d_with_indices_backward.hpp"
#include "ops/select_backward.hpp"
#include "ops/slice_backward.hpp"
#include "ops/unfold_backward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

// ---- Pools whose result names the index of each maximum in its image of `kAxes` dimensions.

template <size_t kAxes, class A>
Values max_pool(Builder& b, const A& a) {
  const TensorSpec in = a.self().spec();
  const TensorSpec out = a.grad_output().spec();
  if (in.rank() < kAxes || out.rank() != in.rank() || a.indices().spec().sizes != out.sizes) {
    a.fail("input of rank " + std::to_string(in.rank()) + ", expected at least " + std::to_string(kAxes) +
           ", and a gradient and indices of the result's sizes");
    return {};
  }
  const auto split = in.sizes.end() - kAxes;
  const Dim images = ir::numel(b.symbols(), Dims(in.sizes.begin(), split)),
            elements = ir::numel(b.symbols(), Dims(split, in.sizes.end())),
            results = ir::numel(b.symbols(), Dims(out.sizes.end() - kAxes, out.sizes.end()));
  const ValueId grad = reshape(b, a.grad_output(), {images, results}),
                indices = reshape(b, a.indices(), {images, results});
  const ValueId zeros = Arithmetic(b).zeros({images, elements}, in.dtype);
  const ValueId sum =
      b.call("aten.scatter_add.default", {ValueRef{zeros}, Dim(1), ValueRef{indices}, ValueRef{grad}});
  return {reshape(b, sum, in.sizes)};
}

// ---- Embeddings.

// Adds rows [n, width] to a table of zeros at the indices [n].
ValueId added_rows(Builder& b, ValueId rows, ValueId indices, Dim count) {
  const TensorSpec spec = b.spec(rows);
  const ValueId zeros = Arithmetic(b).zeros({count, spec.sizes.at(1)}, spec.dtype);
  return b.call("aten.index_put.default", {ValueRef{zeros}, ir::ValueList{{indices}}, ValueRef{rows}, true});
}
// Returns how often each index occurs, for each of them.
ValueId frequencies(Builder& b, ValueId indices, Dim count, Dtype dtype) {
  const Dim n = b.spec(indices).sizes.at(0);
  const ValueId one = b.call("aten.full.default", {Dims{n}, Dim(1)}, {{"dtype", dtype}});
  const ValueId counts = b.call("aten.index_put.default", {ValueRef{Arithmetic(b).zeros({count}, dtype)},
                                                           ir::ValueList{{indices}}, ValueRef{one}, true});
  return b.call("aten.index_select.default", {ValueRef{counts}, Dim(0), ValueRef{indices}});
}
ValueId is_padding(Builder& b, ValueId indices, const infer::IntArgument& padding) {
  return b.call("aten.eq.Scalar", {ValueRef{indices}, padding.dim()});
}
bool has_padding(const infer::IntArgument& padding) {
  return !padding.dim().is_static() || padding.dim().value() >= 0;
}
// The rows that remain for the table: none for padding, and divided by the frequency of their index.
template <class A>
ValueId table_gradient(Builder& b, const A& a, ValueId rows, ValueId indices) {
  Arithmetic m(b);
  if (has_padding(a.padding_idx()))
    rows = m.zero_where(m.unsqueeze(is_padding(b, indices, a.padding_idx()), 1), rows);
  if (a.scale_grad_by_freq()) {
    const ValueId counts = frequencies(b, indices, a.num_weights().dim(), b.spec(rows).dtype);
    rows = m.div(rows, m.unsqueeze(counts, 1));
  }
  return added_rows(b, rows, indices, a.num_weights().dim());
}

Values embedding(Builder& b, const ops::embedding_dense_backward_default<Call>& a) {
  const TensorSpec grad = a.grad_output().spec();
  if (grad.rank() == 0) return {};
  const ValueId rows = reshape(b, a.grad_output(), {Dim(-1), grad.sizes.back()});
  return {table_gradient(b, a, rows, reshape(b, a.indices(), {Dim(-1)}))};
}

enum BagMode { kSum = 0, kMean = 1, kMax = 2 };

// `bags` names the bag of each index.
template <class A>
Values bag_gradient(Builder& b, const A& a, ValueId bags) {
  Arithmetic m(b);
  const TensorSpec grad = a.grad().spec();
  const int64_t mode = a.mode().integer();
  if (grad.rank() != 2 || mode < kSum || mode > kMax) {
    a.fail("a gradient of rank " + std::to_string(grad.rank()) + " in mode " + std::to_string(mode) +
           ", expected rank 2, and sum (0), mean (1) or max (2)");
    return {};
  }
  ValueId counted = b.call("aten.full_like.default", {ValueRef{bags}, Dim(1)}, {{"dtype", grad.dtype}});
  if (has_padding(a.padding_idx()))
    counted = m.zero_where(is_padding(b, a.indices(), a.padding_idx()), counted);
  const ValueId sizes = b.call("aten.index_put.default", {ValueRef{m.zeros({grad.sizes[0]}, grad.dtype)},
                                                          ir::ValueList{{bags}}, ValueRef{counted}, true});
  if (mode == kMax) {
    const ValueId is_empty = m.unsqueeze(b.call("aten.eq.Scalar", {ValueRef{sizes}, Dim(0)}), 1);
    const ValueId zeros = m.zeros({a.num_weights().dim(), grad.sizes[1]}, grad.dtype);
    const ValueId first = b.call("aten.clamp.default", {a.maximum_indices(), Dim(0)});
    return {b.call("aten.scatter_add.default",
                   {ValueRef{zeros}, Dim(0), ValueRef{first}, ValueRef{m.zero_where(is_empty, a.grad())}})};
  }
  const auto of_bag = [&](ValueId value) {
    return b.call("aten.index_select.default", {ValueRef{value}, Dim(0), ValueRef{bags}});
  };
  ValueId rows = of_bag(a.grad());
  if (mode == kMean) {
    const ValueId least = b.call("aten.clamp.default", {ValueRef{sizes}, Dim(1)});
    rows = m.div(rows, m.unsqueeze(of_bag(least), 1));
  }
  if (a.per_sample_weights().has_value()) rows = m.mul(rows, m.unsqueeze(a.per_sample_weights(), 1));
  return {table_gradient(b, a, rows, a.indices())};
}

// Kernels leave offset2bag empty in some modes, so the bags are found again.
ValueId bags_of(Builder& b, ValueId indices, ValueId offsets) {
  const Dim count = b.spec(indices).sizes.at(0);
  const ValueId places =
      b.call("aten.arange.start_step", {Dim(0), count}, {{"dtype", b.spec(offsets).dtype}});
  const ValueId after =
      b.call("aten.searchsorted.Tensor", {ValueRef{offsets}, ValueRef{places}}, {{"right", true}});
  return b.call("aten.sub.Scalar", {ValueRef{after}, Dim(1)});
}
Values embedding_bag(Builder& b, const ops::_embedding_bag_backward_default<Call>& a) {
  if (a.indices().spec().rank() != 1 || a.offsets().spec().rank() != 1) return {};
  return bag_gradient(b, a, bags_of(b, a.indices(), a.offsets()));
}
Values embedding_bag_dense(Builder& b, const ops::_embedding_bag_dense_backward_default<Call>& a) {
  return bag_gradient(b, a, a.offset2bag());
}
// The weight of an index multiplies its row: its gradient is their scalar product with that of the bag.
Values sample_weights(Builder& b, const ops::_embedding_bag_per_sample_weights_backward_default<Call>& a) {
  if (a.indices().spec().rank() != 1 || a.offsets().spec().rank() != 1) return {};
  Arithmetic m(b);
  const auto rows = [&](ValueId table, ValueId index) {
    return b.call("aten.index_select.default", {ValueRef{table}, Dim(0), ValueRef{index}});
  };
  const ValueId bags = bags_of(b, a.indices(), a.offsets());
  const ValueId products = m.mul(rows(a.grad(), bags), rows(a.weight(), a.indices()));
  const ValueId out = m.sum(products, {Dim(1)});
  if (!has_padding(a.padding_idx())) return {out};
  return {m.zero_where(is_padding(b, a.indices(), a.padding_idx()), out)};
}

// ---- Views.

template <class A>
ValueId zero_input(Builder& b, const A& a, const TensorSpec& grad) {
  return Arithmetic(b).zeros(a.input_sizes().dims(), grad.dtype);
}
Values select(Builder& b, const ops::select_backward_default<Call>& a) {
  const ValueId zeros = zero_input(b, a, a.grad_output().spec());
  return {b.call("aten.select_scatter.default", {ValueRef{zeros}, a.grad_output(), a.dim(), a.index()})};
}
Values slice(Builder& b, const ops::slice_backward_default<Call>& a) {
  const ValueId zeros = zero_input(b, a, a.grad_output().spec());
  return {b.call("aten.slice_scatter.default",
                 {ValueRef{zeros}, a.grad_output(), a.dim(), a.start(), a.end(), a.step()})};
}
Values diagonal(Builder& b, const ops::diagonal_backward_default<Call>& a) {
  const ValueId zeros = zero_input(b, a, a.grad_output().spec());
  return {b.call("aten.diagonal_scatter.default",
                 {ValueRef{zeros}, a.grad_output(), a.offset(), a.dim1(), a.dim2()})};
}
// Each window's element is added at its place along `dim`; windows are the last dimension of the gradient.
Values unfold(Builder& b, const ops::unfold_backward_default<Call>& a) {
  const TensorSpec grad = a.grad_in().spec();
  const Dims sizes = a.input_sizes().dims();
  if (sizes.empty() || grad.rank() != sizes.size() + 1) return {};
  const size_t dim = a.axis(a.dim().integer(), sizes.size());
  constexpr int64_t kMost = 1 << 24;
  const int64_t length = a.size().integer(), step = a.step().integer();
  const Dim count = grad.sizes[dim];
  if (!count.is_static() || length < 1 || length > kMost || step < 1 || step > kMost ||
      count.value() > kMost || count.value() * length > kMost) {
    a.fail("windows of " + std::to_string(length) + " elements in steps of " + std::to_string(step) +
           ", expected positive numbers known at compile time, at most " + std::to_string(kMost) +
           " together");
    return {};
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count.value(); ++i)
    for (int64_t j = 0; j < length; ++j) places.push_back(i * step + j);
  const ValueId index = add_elements(b, Dtype::INT64, {count.value() * length}, places);
  // [..., count, ..., length] becomes [..., count * length, ...].
  Dims order, flat = grad.sizes;
  for (size_t i = 0; i + 1 < grad.rank(); ++i) {
    order.emplace_back(static_cast<int64_t>(i));
    if (i == dim) order.emplace_back(static_cast<int64_t>(grad.rank()) - 1);
  }
  flat.pop_back();
  flat[dim] = Dim(count.value() * length);
  const ValueId turned = b.call("aten.permute.default", {a.grad_in(), std::move(order)});
  const ValueId zeros = zero_input(b, a, grad);
  return {b.call("aten.index_add.default", {ValueRef{zeros}, Dim(static_cast<int64_t>(dim)), ValueRef{index},
                                            ValueRef{reshape(b, turned, std::move(flat))}})};
}

}  // namespace

std::span<const Decomposition> index_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_embedding_bag_backward_default, embedding_bag>(),
      row<ops::_embedding_bag_dense_backward_default, embedding_bag_dense>(),
      row<ops::_embedding_bag_per_sample_weights_backward_default, sample_weights>(),
      row<ops::adaptive_max_pool2d_backward_default, max_pool<2>>(),
      row<ops::adaptive_max_pool3d_backward_default, max_pool<3>>(),
      row<ops::diagonal_backward_default, diagonal>(),
      row<ops::embedding_dense_backward_default, embedding>(),
      row<ops::fractional_max_pool2d_backward_default, max_pool<2>>(),
      row<ops::fractional_max_pool3d_backward_default, max_pool<3>>(),
      row<ops::max_pool3d_with_indices_backward_default, max_pool<3>>(),
      row<ops::select_backward_default, select>(),
      row<ops::slice_backward_default, slice>(),
      row<ops::unfold_backward_default, unfold>(),
  };
  return kRows;
}

}  // namespace etb::passes
