// SPDX-License-Identifier: Apache-2.0
// Tensor products over chosen dimensions.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "ops/bilinear.hpp"
#include "ops/cross.hpp"
#include "ops/inner.hpp"
#include "ops/kron.hpp"
#include "ops/linalg_cross.hpp"
#include "ops/linalg_multi_dot.hpp"
#include "ops/linalg_vander.hpp"
#include "ops/matrix_power.hpp"
#include "ops/outer.hpp"
#include "ops/pdist.hpp"
#include "ops/renorm.hpp"
#include "ops/tensordot.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Values outer(Builder& b, const ops::outer_default<Call>& a) {
  const ValueId column = b.call("aten.view.default", {a.self(), Dims{a.self().spec().sizes.at(0), Dim(1)}});
  return {b.call("aten.mul.Tensor", {ValueRef{column}, a.vec2()})};
}

// sum over i, j of input1[i] weight[o, i, j] input2[j], plus bias.
Values bilinear(Builder& b, const ops::bilinear_default<Call>& a) {
  const TensorSpec first = a.input1().spec(), weight = a.weight().spec();
  if (first.rank() == 0 || weight.rank() != 3) return {};
  const Dim outs = weight.sizes[0], lefts = weight.sizes[1], rights = weight.sizes[2];
  const ValueId x = reshape(b, a.input1(), {Dim(-1), lefts}),
                y = reshape(b, a.input2(), {Dim(-1), Dim(1), rights});
  const ValueId turned = b.call("aten.permute.default", {a.weight(), Dims{Dim(1), Dim(0), Dim(2)}});
  const ValueId flat = reshape(b, turned, {lefts, b.symbols().mul(outs, rights)});
  const ValueId half = reshape(b, matmul(b, x, flat), {Dim(-1), outs, rights});
  const ValueId products = b.call("aten.mul.Tensor", {ValueRef{half}, ValueRef{y}});
  const ValueId sums = b.call("aten.sum.dim_IntList", {ValueRef{products}, Dims{Dim(-1)}},
                              {{"dtype", b.spec(products).dtype}});
  Dims sizes(first.sizes.begin(), first.sizes.end() - 1);
  sizes.push_back(outs);
  const ValueId out = reshape(b, sums, std::move(sizes));
  return {a.bias().has_value() ? b.call("aten.add.Tensor", {ValueRef{out}, a.bias()}) : out};
}

// Sums over pairs of dimensions by one matrix product.
ValueId contract(Builder& b, const Call& a, ValueId first, ValueId second, const Dims& first_dims,
                 const Dims& second_dims) {
  ir::SymbolTable& symbols = b.symbols();
  const Dims first_sizes = sizes_of(b, first), second_sizes = sizes_of(b, second);
  Dim inner = 1;
  Dims first_order, second_order, sizes;
  Dim rows = 1, columns = 1;
  const auto is_summed = [&](const Dims& dims, size_t axis, size_t rank) {
    return std::any_of(dims.begin(), dims.end(), [&](Dim dim) { return a.axis(dim.value(), rank) == axis; });
  };
  for (size_t i = 0; i < first_sizes.size(); ++i) {
    if (is_summed(first_dims, i, first_sizes.size())) continue;
    first_order.emplace_back(static_cast<int64_t>(i));
    sizes.push_back(first_sizes[i]);
    rows = symbols.mul(rows, first_sizes[i]);
  }
  for (size_t i = 0; i < first_dims.size(); ++i) {
    const size_t axis = a.axis(first_dims[i].value(), first_sizes.size());
    first_order.emplace_back(static_cast<int64_t>(axis));
    second_order.emplace_back(static_cast<int64_t>(a.axis(second_dims[i].value(), second_sizes.size())));
    inner = symbols.mul(inner, first_sizes[axis]);
  }
  for (size_t i = 0; i < second_sizes.size(); ++i) {
    if (is_summed(second_dims, i, second_sizes.size())) continue;
    second_order.emplace_back(static_cast<int64_t>(i));
    sizes.push_back(second_sizes[i]);
    columns = symbols.mul(columns, second_sizes[i]);
  }
  const ValueId turned = b.call("aten.permute.default", {ValueRef{first}, std::move(first_order)});
  const ValueId other = b.call("aten.permute.default", {ValueRef{second}, std::move(second_order)});
  const ValueId left = reshape(b, turned, {rows, inner}), right = reshape(b, other, {inner, columns});
  const ValueId product = b.call("aten.mm.default", {ValueRef{left}, ValueRef{right}});
  return b.call("aten.view.default", {ValueRef{product}, std::move(sizes)});
}

Values tensordot(Builder& b, const ops::tensordot_default<Call>& a) {
  const Dims first = a.dims_self().dims(), second = a.dims_other().dims();
  if (first.size() != second.size()) {
    a.fail(std::to_string(first.size()) + " dimensions of self against " + std::to_string(second.size()) +
           " of other, expected equally many");
    return {};
  }
  // A dimension of size 1 against a larger one is broadcast, so the larger one is summed first.
  ValueId left = a.self(), right = a.other();
  if (!first.empty() && (b.spec(left).rank() == 0 || b.spec(right).rank() == 0)) {
    a.fail("dimensions of a tensor without any");
    return {};
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const Dim own = b.spec(left).sizes[a.axis(first[i].value(), b.spec(left).rank())];
    const Dim others = b.spec(right).sizes[a.axis(second[i].value(), b.spec(right).rank())];
    if (own.is(1) == others.is(1)) continue;
    ValueId& summed = own.is(1) ? right : left;
    summed = b.call("aten.sum.dim_IntList", {ValueRef{summed}, Dims{own.is(1) ? second[i] : first[i]}, true},
                    {{"dtype", b.spec(summed).dtype}});
  }
  return {contract(b, a, left, right, first, second)};
}

// Sums over the last dimension of both.
Values inner(Builder& b, const ops::inner_default<Call>& a) {
  if (a.self().spec().rank() == 0 || a.other().spec().rank() == 0)
    return {b.call("aten.mul.Tensor", {a.self(), a.other()})};
  return {contract(b, a, a.self(), a.other(), {Dim(-1)}, {Dim(-1)})};
}

// Multiplies every element of the first by all of the second.
Values kron(Builder& b, const ops::kron_default<Call>& a) {
  Dims first = a.self().spec().sizes, second = a.other().spec().sizes;
  const size_t rank = std::max(first.size(), second.size());
  first.insert(first.begin(), rank - first.size(), Dim(1));
  second.insert(second.begin(), rank - second.size(), Dim(1));
  Dims first_wide, second_wide, sizes;
  for (size_t i = 0; i < rank; ++i) {
    first_wide.insert(first_wide.end(), {first[i], Dim(1)});
    second_wide.insert(second_wide.end(), {Dim(1), second[i]});
    sizes.push_back(b.symbols().mul(first[i], second[i]));
  }
  const ValueId left = reshape(b, a.self(), std::move(first_wide));
  const ValueId right = reshape(b, a.other(), std::move(second_wide));
  return {reshape(b, b.call("aten.mul.Tensor", {ValueRef{left}, ValueRef{right}}), std::move(sizes))};
}

// A matrix with the powers of each element, from 0 on, in its rows. A number counts as a vector of one.
Values vander(Builder& b, const ops::linalg_vander_default<Call>& a) {
  const TensorSpec in = a.x().spec();
  if (in.rank() == 0 && !a.N().has_value()) return {};
  const Dim count = a.N().has_value() ? a.N().dim() : in.sizes.back();
  const bool is_kept = ops::is_floating(in.dtype) || ops::is_complex(in.dtype);
  const Dtype dtype = is_kept ? in.dtype : Dtype::INT64;
  ValueId x = to_dtype(b, a.x(), dtype);
  if (in.rank() == 0) x = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(0)});
  const ValueId column = b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(-1)});
  const ValueId powers =
      b.call("aten.arange.start_step", {Dim(0), count}, {{"dtype", ops::real_part(dtype)}});
  return {b.call("aten.pow.Tensor_Tensor", {ValueRef{column}, ValueRef{powers}})};
}

// Repeated squaring.
Values matrix_power(Builder& b, const ops::matrix_power_default<Call>& a) {
  int64_t power = a.n().integer();
  const TensorSpec in = a.self().spec();
  if (in.rank() < 2 || power == std::numeric_limits<int64_t>::min()) {
    a.fail("power " + std::to_string(power) + " of a tensor of rank " + std::to_string(in.rank()) +
           ", expected matrices and a power of int64 that can be negated");
    return {};
  }
  if (power == 0)
    return {b.call("aten.expand.default",
                   {ValueRef{identity_matrix(b, in.sizes.back(), in.sizes.back(), in.dtype)}, in.sizes})};
  const ValueId base = power < 0 ? b.call("aten.linalg_inv.default", {a.self()}) : ValueId(a.self());
  power = std::abs(power);
  if (power == 3) return {matmul(b, matmul(b, base, base), base)};  // PyTorch's order
  ValueId square = base, product = ir::kNoValue;
  for (; power > 0; power /= 2) {
    if (power % 2 == 1) product = product == ir::kNoValue ? square : matmul(b, product, square);
    if (power > 1) square = matmul(b, square, square);
  }
  return {product};
}

// The cheapest order of a chain of products: cost[i][j] of matrices i to j, divided after split[i][j].
struct Chain {
  std::vector<std::vector<double>> cost;
  std::vector<std::vector<size_t>> split;
};
Chain cheapest(const std::vector<double>& sizes) {
  const size_t count = sizes.size() - 1;
  Chain chain{std::vector(count, std::vector<double>(count, 0)),
              std::vector(count, std::vector<size_t>(count, 0))};
  for (size_t length = 1; length < count; ++length) {
    for (size_t i = 0; i + length < count; ++i) {
      const size_t j = i + length;
      chain.cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double cost = chain.cost[i][k] + chain.cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (cost >= chain.cost[i][j]) continue;
        chain.cost[i][j] = cost;
        chain.split[i][j] = k;
      }
    }
  }
  return chain;
}
ValueId multiply(Builder& b, const Chain& chain, const std::vector<ValueId>& parts, size_t i, size_t j) {
  if (i == j) return parts[i];
  const size_t k = chain.split[i][j];
  const ValueId left = multiply(b, chain, parts, i, k), right = multiply(b, chain, parts, k + 1, j);
  return b.call("aten.mm.default", {ValueRef{left}, ValueRef{right}});
}
// Matrices; the first may be a row and the last a column.
Values multi_dot(Builder& b, const ops::linalg_multi_dot_default<Call>& a) {
  std::vector<ValueId> parts = a.tensors().ids();
  if (parts.size() < 2) return {};
  const bool has_row = sizes_of(b, parts.front()).size() == 1,
             has_column = sizes_of(b, parts.back()).size() == 1;
  if (has_row) parts.front() = b.call("aten.unsqueeze.default", {ValueRef{parts.front()}, Dim(0)});
  if (has_column) parts.back() = b.call("aten.unsqueeze.default", {ValueRef{parts.back()}, Dim(1)});
  std::vector<double> sizes;
  for (const ValueId part : parts) {
    const Dim size = sizes_of(b, part).at(0);
    sizes.push_back(size.is_static() ? static_cast<double>(size.value()) : 1);
  }
  const Dim last = sizes_of(b, parts.back()).at(1);
  sizes.push_back(last.is_static() ? static_cast<double>(last.value()) : 1);
  ValueId out = multiply(b, cheapest(sizes), parts, 0, parts.size() - 1);
  if (has_row) out = b.call("aten.squeeze.dim", {ValueRef{out}, Dim(0)});
  if (has_column) out = b.call("aten.squeeze.dim", {ValueRef{out}, Dim(-1)});
  return {out};
}

// Vectors of three elements along `dim`.
ValueId cross_along(Builder& b, ValueId first, ValueId second, int64_t dim) {
  const auto turned = [&](ValueId value, int64_t by) {
    const auto part = [&](int64_t begin, int64_t end) {
      return b.call("aten.slice.Tensor", {ValueRef{value}, Dim(dim), Dim(begin), Dim(end)});
    };
    ir::ValueList parts{{part(by, 3), part(0, by)}};
    return b.call("aten.cat.default", {std::move(parts), Dim(dim)});
  };
  const auto product = [&](ValueId x, ValueId y) {
    return b.call("aten.mul.Tensor", {ValueRef{x}, ValueRef{y}});
  };
  const ValueId plus = product(turned(first, 1), turned(second, 2));
  const ValueId minus = product(turned(first, 2), turned(second, 1));
  return b.call("aten.sub.Tensor", {ValueRef{plus}, ValueRef{minus}});
}
template <class A>
Values linalg_cross(Builder& b, const A& a) {
  return {cross_along(b, a.self(), a.other(), a.dim().integer())};
}
Values cross(Builder& b, const ops::cross_default<Call>& a) {
  if (a.dim().has_value()) return linalg_cross(b, a);
  const Dims sizes = a.self().spec().sizes;
  const auto found = std::find_if(sizes.begin(), sizes.end(), [](Dim size) { return size.is(3); });
  if (found == sizes.end()) {
    a.fail("no dimension has 3 elements");
    return {};
  }
  return {cross_along(b, a.self(), a.other(), found - sizes.begin())};
}

// Slices with a larger norm are scaled down to it.
Values renorm(Builder& b, const ops::renorm_default<Call>& a) {
  const size_t rank = a.self().spec().rank(), axis = a.axis(a.dim().integer(), rank);
  Dims others;
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis) others.emplace_back(static_cast<int64_t>(i));
  }
  const ValueId norm = b.call("aten.linalg_vector_norm.default", {a.self(), a.p(), std::move(others), true});
  const ValueId is_larger = b.call("aten.gt.Scalar", {ValueRef{norm}, a.maxnorm()});
  const ValueId shifted = b.call("aten.add.Scalar", {ValueRef{norm}, Argument(1e-7)});
  const ValueId inverse = b.call("aten.reciprocal.default", {ValueRef{shifted}});
  const ValueId scale = b.call("aten.mul.Scalar", {ValueRef{inverse}, a.maxnorm()});
  const ValueId factor = b.call("aten.where.ScalarOther", {ValueRef{is_larger}, ValueRef{scale}, Dim(1)});
  return {b.call("aten.mul.Tensor", {a.self(), ValueRef{factor}})};
}

// The distance of every pair of rows.
Values pdist(Builder& b, const ops::pdist_default<Call>& a) {
  const Dims sizes = a.self().spec().sizes;
  if (sizes.size() != 2 || !sizes[0].is_static()) return {};
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < sizes[0].value(); ++i) {
    for (int64_t j = i + 1; j < sizes[0].value(); ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  }
  const auto rows = [&](const std::vector<int64_t>& index) {
    const ValueId constant = add_elements(b, Dtype::INT64, {static_cast<int64_t>(index.size())}, index);
    return b.call("aten.index_select.default", {a.self(), Dim(0), ValueRef{constant}});
  };
  const ValueId difference = b.call("aten.sub.Tensor", {ValueRef{rows(first)}, ValueRef{rows(second)}});
  return {b.call("aten.linalg_vector_norm.default", {ValueRef{difference}, a.p(), Dims{Dim(1)}})};
}

}  // namespace

std::span<const Decomposition> product_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::bilinear_default, bilinear>(),
      row<ops::cross_default, cross>(),
      row<ops::inner_default, inner>(),
      row<ops::kron_default, kron>(),
      row<ops::linalg_cross_default, linalg_cross>(),
      row<ops::linalg_multi_dot_default, multi_dot>(),
      row<ops::linalg_vander_default, vander>(),
      row<ops::matrix_power_default, matrix_power>(),
      row<ops::outer_default, outer>(),
      row<ops::pdist_default, pdist>(),
      row<ops::renorm_default, renorm>(),
      row<ops::tensordot_default, tensordot>(),
  };
  return kRows;
}

}  // namespace etb::passes
