// SPDX-License-Identifier: Apache-2.0
// The fused attention of CPUs: its logarithms of sums, and its gradient. With weights P = softmax(S), S = q k^T * scale + mask,
// and out = P v: grad v = P^T grad; grad S = P * (grad v^T - rowsum(grad * out)); grad q = grad S k * scale.
#include <cmath>

#include "ops/_scaled_dot_product_flash_attention_for_cpu.hpp"
#include "ops/_scaled_dot_product_flash_attention_for_cpu_backward.hpp"
#include "partitioner_sdk/passes/arithmetic.hpp"

namespace etb::passes {

namespace {

// True if each head of keys serves as many heads of queries as another.
bool has_groups(Dim heads, Dim own) {
  if (heads == own) return true;
  return heads.is_static() && own.is_static() && own.value() > 0 && heads.value() % own.value() == 0;
}

// Repeats the heads of key or value, [N, H, S, E], for each head of query that reads them.
template <class A>
ValueId for_each_query_head(Builder& b, const A& a, ValueId x) {
  const Dim heads = a.query().spec().sizes[1], own = b.spec(x).sizes[1];
  if (heads == own) return x;
  return b.call("aten.repeat_interleave.self_int", {ValueRef{x}, b.symbols().floor_div(heads, own), Dim(1)});
}
// Adds the gradients of the heads that one head of key or value served.
ValueId added_heads(Builder& b, ValueId grad, Dim own) {
  const Dims sizes = sizes_of(b, grad);
  if (sizes[1] == own) return grad;
  const Dim group = b.symbols().floor_div(sizes[1], own);
  return Arithmetic(b).sum(reshape(b, grad, {sizes[0], own, group, sizes[2], sizes[3]}), {Dim(2)});
}

// Fails for ranks other than 4 and for a head size that is known only at run time. Returns the factor of the scores.
template <class A>
std::optional<double> factor_of(const A& a) {
  const TensorSpec& q = a.query().spec();
  if (a.dropout_p().number() != 0) {
    a.fail("dropout_p is not 0, expected attention without dropout");
  } else if (q.rank() != 4 || a.key().spec().rank() != 4 || a.value().spec().rank() != 4) {
    a.fail("query of rank " + std::to_string(q.rank()) + ", expected query, key and value of rank 4");
  } else if (!has_groups(q.sizes[1], a.key().spec().sizes[1]) ||
             a.key().spec().sizes[1] != a.value().spec().sizes[1]) {
    a.fail("the heads of key and value do not divide those of query");
  } else if (a.scale().has_value()) {
    return a.scale().number();
  } else if (q.sizes[3].is_static() && q.sizes[3].value() > 0) {
    return 1.0 / std::sqrt(static_cast<double>(q.sizes[3].value()));
  } else {
    a.fail("the head size is known only at run time\nhint: export the model with a static head size");
  }
  return std::nullopt;
}

// The scores of each query row and key row, in the dtype that PyTorch computes in.
template <class A>
ValueId scores_of(Builder& b, const A& a, double factor) {
  const Dtype wide = wide_dtype(a.query().spec().dtype);
  const ValueId query = to_dtype(b, a.query(), wide),
                key = for_each_query_head(b, a, to_dtype(b, a.key(), wide));
  const Dim rows = a.query().spec().sizes[2], columns = a.key().spec().sizes[2];
  ValueId scores = Arithmetic(b).times(matmul(b, query, transpose(b, key, -2, -1)), factor);
  const auto add_mask = [&](ValueId mask) {
    scores = Arithmetic(b).add(scores, to_dtype(b, additive_mask(b, mask, wide), wide));
  };
  if (a.is_causal()) add_mask(causal_mask(b, rows, columns));
  if (a.attn_mask().has_value()) add_mask(a.attn_mask());
  return scores;
}

Values attention(Builder& b, const ops::_scaled_dot_product_flash_attention_for_cpu_default<Call>& a) {
  const auto factor = factor_of(a);
  if (!factor) return {};
  const ValueId out = b.call("aten.scaled_dot_product_attention.default",
                             {a.query(), a.key(), a.value(), a.attn_mask(), 0.0, bool{a.is_causal()}},
                             {{"scale", *factor}, {"enable_gqa", true}});
  const ValueId sums = b.call("aten.logsumexp.default", {ValueRef{scores_of(b, a, *factor)}, Dims{Dim(-1)}});
  return {out, sums};
}

using Backward = ops::_scaled_dot_product_flash_attention_for_cpu_backward_default<Call>;

// PyTorch's decomposition of the forward op returns the weights where the fused kernel returns logarithms of
// sums. An exported graph with a gradient has the former.
ValueId weights_of(Builder& b, const Backward& a, double factor, Dtype wide) {
  const ValueId saved = to_dtype(b, a.logsumexp(), wide);
  if (a.logsumexp().spec().rank() == 4) return saved;
  Arithmetic m(b);
  const ValueId weights = m.call("aten.exp.default", m.sub(scores_of(b, a, factor), m.unsqueeze(saved, -1)));
  // A row without any key has the logarithm -inf.
  return m.zero_where(m.call("aten.isnan.default", weights), weights);
}

Values attention_backward(Builder& b, const Backward& a) {
  const auto factor = factor_of(a);
  const size_t rank = a.logsumexp().spec().rank();
  if (factor && rank != 3 && rank != 4)
    a.fail("logsumexp of rank " + std::to_string(rank) + ", expected 3, or 4 for weights");
  if (!factor || !a.error().empty()) return {};
  Arithmetic m(b);
  const Dtype dtype = a.query().spec().dtype, wide = wide_dtype(dtype);
  const Dim own_heads = a.key().spec().sizes[1];
  const ValueId grad = to_dtype(b, a.grad_out(), wide),
                key = for_each_query_head(b, a, to_dtype(b, a.key(), wide)),
                value = for_each_query_head(b, a, to_dtype(b, a.value(), wide));
  const ValueId weights = weights_of(b, a, *factor, wide);
  const ValueId of_value = matmul(b, transpose(b, weights, -2, -1), grad);
  const ValueId of_weights = matmul(b, grad, transpose(b, value, -2, -1));
  const ValueId shift = m.sum(m.mul(grad, to_dtype(b, a.out(), wide)), {Dim(-1)}, true);
  const ValueId of_scores = m.times(m.mul(weights, m.sub(of_weights, shift)), *factor);
  const ValueId of_query = matmul(b, of_scores, key);
  const ValueId of_key = matmul(b, transpose(b, of_scores, -2, -1), to_dtype(b, a.query(), wide));
  return {to_dtype(b, of_query, dtype), to_dtype(b, added_heads(b, of_key, own_heads), dtype),
          to_dtype(b, added_heads(b, of_value, own_heads), dtype)};
}

}  // namespace

std::span<const Decomposition> attention_gradient_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_scaled_dot_product_flash_attention_for_cpu_default, attention>(),
      row<ops::_scaled_dot_product_flash_attention_for_cpu_backward_default, attention_backward>(),
  };
  return kRows;
}

}  // namespace etb::passes
