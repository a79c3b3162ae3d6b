// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention.
#include <cmath>
#include <limits>

#include "ops/_grouped_mm.hpp"
#include "ops/cdist.hpp"
#include "ops/linear.hpp"
#include "ops/matmul.hpp"
#include "ops/scaled_dot_product_attention.hpp"
#include "ops/transformers/grouped_mm_fallback.hpp"
#include "partitioner_sdk/passes/random_numbers.hpp"

namespace etb::passes {

namespace {

Dim product(ir::SymbolTable& symbols, const Dims& sizes, size_t count) {
  Dim total = 1;
  for (size_t i = 0; i < count; ++i) total = symbols.mul(total, sizes[i]);
  return total;
}

// True when the leading dimensions are contiguous, so that they can be viewed as one.
bool has_foldable_batch(ir::SymbolTable& symbols, const TensorSpec& spec) {
  for (size_t i = 0; i + 2 < spec.rank(); ++i) {
    if (spec.strides[i] != symbols.mul(spec.strides[i + 1], spec.sizes[i + 1])) return false;
  }
  return true;
}

// [.., n, k] x [k, m] as one matrix product.
ValueId folded(Builder& b, ValueId x, ValueId y) {
  const TensorSpec left = b.spec(x);
  const Dim rows = product(b.symbols(), left.sizes, left.rank() - 1);
  const ValueId flat = reshape(b, x, {rows, left.sizes.back()});
  Dims sizes(left.sizes.begin(), left.sizes.end() - 1);
  sizes.push_back(b.spec(y).sizes[1]);
  return b.call("aten.view.default",
                {ValueRef{b.call("aten.mm.default", {ValueRef{flat}, ValueRef{y}})}, std::move(sizes)});
}

// Expands both operands to common batch dimensions, which are then viewed as one.
ValueId batched(Builder& b, ValueId x, ValueId y) {
  const TensorSpec left = b.spec(x), right = b.spec(y);
  const Dims left_batch(left.sizes.begin(), left.sizes.end() - 2),
      right_batch(right.sizes.begin(), right.sizes.end() - 2);
  Dims batch(std::max(left_batch.size(), right_batch.size()), Dim(1));
  for (size_t i = 0; i < batch.size(); ++i) {
    const Dim p = i < left_batch.size() ? left_batch[left_batch.size() - 1 - i] : Dim(1);
    const Dim q = i < right_batch.size() ? right_batch[right_batch.size() - 1 - i] : Dim(1);
    batch[batch.size() - 1 - i] = p.is(1) ? q : p;
  }
  const Dim count = product(b.symbols(), batch, batch.size());
  const auto flat = [&](ValueId value, const TensorSpec& spec) {
    Dims sizes = batch;
    sizes.insert(sizes.end(), spec.sizes.end() - 2, spec.sizes.end());
    const ValueId wide = b.call("aten.expand.default", {ValueRef{value}, std::move(sizes)});
    return reshape(b, wide, {count, spec.sizes[spec.rank() - 2], spec.sizes[spec.rank() - 1]});
  };
  const ValueId first = flat(x, left), second = flat(y, right);
  Dims sizes = batch;
  sizes.push_back(left.sizes[left.rank() - 2]);
  sizes.push_back(right.sizes[right.rank() - 1]);
  return b.call(
      "aten.view.default",
      {ValueRef{b.call("aten.bmm.default", {ValueRef{first}, ValueRef{second}})}, std::move(sizes)});
}

}  // namespace

// As ATen/native/LinearAlgebra.cpp: vectors become matrices of one row or column, a matrix on the right folds
// the left side.
ValueId matmul(Builder& b, ValueId x, ValueId y) {
  const size_t left = b.spec(x).rank(), right = b.spec(y).rank();
  if (left == 0 || right == 0) {
    b.fail(Code::INVALID_DATA, "matmul has a 0-d operand, expected at least one dimension");
    return x;
  }
  if (left == 1) {
    const ValueId row = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(0)});
    const ValueId out =
        matmul(b, row, right == 1 ? b.call("aten.unsqueeze.default", {ValueRef{y}, Dim(1)}) : y);
    const Dims gone = right == 1 ? Dims{0, 1} : Dims{-2};
    return b.call("aten.squeeze.dims", {ValueRef{out}, gone});
  }
  if (right == 1) {
    const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{y}, Dim(1)});
    return b.call("aten.squeeze.dims", {ValueRef{matmul(b, x, column)}, Dims{-1}});
  }
  if (left == 2 && right == 2) return b.call("aten.mm.default", {ValueRef{x}, ValueRef{y}});
  if (right == 2 && has_foldable_batch(b.symbols(), b.spec(x))) return folded(b, x, y);
  return batched(b, x, y);
}

ValueId causal_mask(Builder& b, Dim rows, Dim columns) {
  const auto count = [&](Dim size) { return b.call("aten.arange.start_step", {Dim(0), size}); };
  const ValueId row = b.call("aten.unsqueeze.default", {ValueRef{count(rows)}, Dim(-1)});
  return b.call("aten.le.Tensor", {ValueRef{count(columns)}, ValueRef{row}});
}

ValueId additive_mask(Builder& b, ValueId mask, Dtype dtype) {
  if (!ops::is_bool(b.spec(mask).dtype)) return mask;
  const auto number = [&](double value) {
    return b.call("aten.scalar_tensor.default", {value},
                  {{"dtype", dtype}, {"layout", ir::Layout::kStrided}, {"device", ir::Device{"cpu"}}});
  };
  const ValueId low = number(-std::numeric_limits<double>::infinity());
  const ValueId zero = number(0.0);
  return b.call("aten.where.self", {ValueRef{mask}, ValueRef{zero}, ValueRef{low}});
}

namespace {

Values matmul_op(Builder& b, const ops::matmul_default<Call>& a) { return {matmul(b, a.self(), a.other())}; }

Values linear(Builder& b, const ops::linear_default<Call>& a) {
  const ValueId x = a.input(), weight = a.weight();
  const TensorSpec in = b.spec(x);
  if (b.spec(weight).rank() != 2 || in.rank() == 0) {
    a.fail("input of rank " + std::to_string(in.rank()) + " with a weight of rank " +
           std::to_string(b.spec(weight).rank()) + ", expected at least 1 and exactly 2");
    return {};
  }
  const bool has_bias = a.bias().has_value();
  if (in.rank() == 2 && has_bias) {
    const ValueId turned = transpose(b, weight, 0, 1);
    return {b.call("aten.addmm.default", {a.bias(), ValueRef{x}, ValueRef{turned}})};
  }
  if (in.rank() > 2 && has_bias && ir::is_contiguous(b.symbols(), in)) {
    const Dim rows = product(b.symbols(), in.sizes, in.rank() - 1);
    const ValueId flat = b.call("aten.view.default", {ValueRef{x}, Dims{rows, in.sizes.back()}});
    const ValueId turned = transpose(b, weight, 0, 1);
    const ValueId out = b.call("aten.addmm.default", {a.bias(), ValueRef{flat}, ValueRef{turned}});
    Dims sizes(in.sizes.begin(), in.sizes.end() - 1);
    sizes.push_back(b.spec(weight).sizes[0]);
    return {b.call("aten.view.default", {ValueRef{out}, std::move(sizes)})};
  }
  const ValueId out = matmul(b, x, transpose(b, weight, 0, 1));
  return {has_bias ? b.call("aten.add.Tensor", {ValueRef{out}, a.bias()}) : out};
}

// A row with only -inf scores yields zeros instead of NaN.
ValueId safe_softmax(Builder& b, ValueId scores) {
  const ValueId weights = b.call("aten._softmax.default", {ValueRef{scores}, Dim(-1), false});
  const ValueId is_masked =
      b.call("aten.eq.Scalar", {ValueRef{scores}, -std::numeric_limits<double>::infinity()});
  const ValueId is_open = b.call("aten.logical_not.default", {ValueRef{is_masked}});
  const ValueId has_open = b.call("aten.any.dim", {ValueRef{is_open}, Dim(-1), true});
  const ValueId is_closed = b.call("aten.logical_not.default", {ValueRef{has_open}});
  const ValueId zeros = b.call("aten.full_like.default", {ValueRef{weights}, Dim(0)},
                               {{"pin_memory", false}, {"memory_format", ir::MemoryFormat::kPreserve}});
  return b.call("aten.where.self", {ValueRef{is_closed}, ValueRef{zeros}, ValueRef{weights}});
}

// Repeats keys or values for each query head that reads them, when there are fewer key heads than query heads
// (enable_gqa).
ValueId shared_by_groups(Builder& b, const ops::scaled_dot_product_attention_default<Call>& a,
                         ValueId value) {
  const TensorSpec q = a.query().spec(), spec = b.spec(value);
  if (!a.enable_gqa() || q.rank() < 3 || spec.rank() < 3) return value;
  const Dim heads = q.sizes[q.rank() - 3], own = spec.sizes[spec.rank() - 3];
  if (heads == own) return value;
  return b.call("aten.repeat_interleave.self_int",
                {ValueRef{value}, b.symbols().floor_div(heads, own), Dim(-3)});
}

// Splits the scale over both factors, as in PyTorch, so that neither overflows.
Values scaled_dot_product_attention(Builder& b, const ops::scaled_dot_product_attention_default<Call>& a) {
  const ValueId query = a.query();
  const TensorSpec q = b.spec(query);
  if (q.rank() < 2 || a.key().spec().rank() < 2) return {};
  const ValueId key = shared_by_groups(b, a, a.key()), value = shared_by_groups(b, a, a.value());
  const TensorSpec k = b.spec(key);
  if (!q.sizes.back().is_static()) {
    a.fail(
        "the head size, the last dimension of query, is known only at run time\n"
        "hint: export the model with a static head size");
    return {};
  }
  const double whole = a.scale().has_value() ? a.scale().number()
                                             : 1.0 / std::sqrt(static_cast<double>(q.sizes.back().value()));
  const double scale = std::sqrt(whole);
  const ValueId scaled_query = b.call("aten.mul.Scalar", {ValueRef{query}, scale});
  std::optional<ValueId> mask;
  if (a.is_causal())
    mask = additive_mask(b, causal_mask(b, q.sizes[q.rank() - 2], k.sizes[k.rank() - 2]), q.dtype);
  if (a.attn_mask().has_value()) mask = additive_mask(b, a.attn_mask(), q.dtype);
  const ValueId scaled_key = b.call("aten.mul.Scalar", {ValueRef{transpose(b, key, -2, -1)}, scale});
  ValueId scores = matmul(b, scaled_query, scaled_key);
  if (mask) scores = b.call("aten.add.Tensor", {ValueRef{scores}, ValueRef{*mask}});
  ValueId weights = safe_softmax(b, scores);
  if (const double p = a.dropout_p().number(); p != 0) {
    if (!(p > 0 && p <= 1)) {
      a.fail("dropout_p is " + std::to_string(p) + ", expected 0 to 1");
      return {};
    }
    weights = dropped_out(b, weights, p);
  }
  const ValueId out = matmul(b, weights, value);
  if (q.rank() != 4) return {out};
  // The fused kernel of eager mode stores [batch, head, row] in the order row, batch, head.
  const ValueId turned = b.call("aten.permute.default", {ValueRef{out}, Dims{2, 0, 1, 3}});
  const ValueId dense =
      b.call("aten.clone.default", {ValueRef{turned}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
  return {b.call("aten.permute.default", {ValueRef{dense}, Dims{1, 2, 0, 3}})};
}

// Rows sorted by group times one matrix for each group.
Values grouped_mm(Builder& b, const ops::_grouped_mm_default<Call>& a) {
  const TensorSpec x = a.self().spec(), y = a.mat2().spec();
  if (x.rank() == 3 && y.rank() == 3 && !a.offs().has_value() && !a.bias().has_value())
    return {to_dtype(b, b.call("aten.bmm.default", {a.self(), a.mat2()}), a.out_dtype().value_or(x.dtype))};
  if (x.rank() != 2 || y.rank() != 3 || !a.offs().has_value() || a.bias().has_value()) {
    a.fail("operands of rank " + std::to_string(x.rank()) + " and " + std::to_string(y.rank()) +
           ", expected rows (rank 2) in groups, matrices (rank 3), and no bias");
    return {};
  }
  const ValueId out =
      b.call(ops::transformers::grouped_mm_fallback_default<Call>::kName, {a.self(), a.mat2(), a.offs()});
  return {to_dtype(b, out, a.out_dtype().value_or(x.dtype))};
}

Values cdist(Builder& b, const ops::cdist_default<Call>& a) {
  return {b.call("aten._cdist_forward.default", {a.x1(), a.x2(), a.p(), a.compute_mode()})};
}

}  // namespace

std::span<const Decomposition> linear_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_grouped_mm_default, grouped_mm>(),
      row<ops::cdist_default, cdist>(),
      row<ops::linear_default, linear>(),
      row<ops::matmul_default, matmul_op>(),
      row<ops::scaled_dot_product_attention_default, scaled_dot_product_attention>(),
  };
  return kRows;
}

}  // namespace etb::passes
