// SPDX-License-Identifier: Apache-2.0
// Reductions and matrix products.
#include <algorithm>
#include <array>

#include "api/ops/sizes/reduction.hpp"
#include "ops/_log_softmax.hpp"
#include "ops/_softmax.hpp"
#include "ops/addmm.hpp"
#include "ops/amax.hpp"
#include "ops/amin.hpp"
#include "ops/any.hpp"
#include "ops/bmm.hpp"
#include "ops/cummax.hpp"
#include "ops/cummin.hpp"
#include "ops/cumprod.hpp"
#include "ops/cumsum.hpp"
#include "ops/linear.hpp"
#include "ops/logcumsumexp.hpp"
#include "ops/max.hpp"
#include "ops/mean.hpp"
#include "ops/median.hpp"
#include "ops/min.hpp"
#include "ops/mm.hpp"
#include "ops/prod.hpp"
#include "ops/sum.hpp"
#include "ops/transformers/grouped_mm_fallback.hpp"
#include "ops/var.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

TensorSpec reduced(const Call& call, const TensorSpec& in, const std::vector<bool>& axes, bool keeps_dims) {
  TensorSpec out{in.dtype, {}, {}};
  ops::reduce_sizes(
      Formulas(call.symbols()), in.sizes, [&](size_t i) { return axes[i]; }, keeps_dims,
      [&](Dim size) { out.sizes.push_back(size); });
  return out;
}

template <class C>
Specs reduce(const C& call) {
  return {reduced(call, call.self().spec(), call.axes(call.dim().dims(), call.self().spec().rank()),
                  call.keepdim())};
}
// Elements and their indices.
template <class C>
Specs reduce_pair(const C& call) {
  return Specs(2, reduce(call).front());
}
template <class C>
Specs same(const C& call) {
  return {call.self().spec()};
}

template <class C>
Specs same_pair(const C& call) {
  return Specs(2, call.self().spec());
}

// ---- Matrix products.

Specs product(const Call& call, const TensorSpec& x, const TensorSpec& y) {
  if (x.rank() != 2 || y.rank() != 2) {
    call.fail("operands of rank " + std::to_string(x.rank()) + " and " + std::to_string(y.rank()) +
              ", expected matrices (rank 2)");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], y.sizes[1]}, {}}};
}
Specs mm(const ops::mm_default<Call>& call) { return product(call, call.self().spec(), call.mat2().spec()); }
Specs addmm(const ops::addmm_default<Call>& call) {
  return product(call, call.mat1().spec(), call.mat2().spec());
}
Specs grouped_mm(const ops::transformers::grouped_mm_fallback_default<Call>& call) {
  const TensorSpec &x = call.input().spec(), &y = call.weight().spec();
  if (x.rank() != 2 || y.rank() != 3) {
    call.fail("operands of rank " + std::to_string(x.rank()) + " and " + std::to_string(y.rank()) +
              ", expected 2 and 3");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], y.sizes[2]}, {}}};
}
Specs bmm(const ops::bmm_default<Call>& call) {
  const TensorSpec &x = call.self().spec(), &y = call.mat2().spec();
  if (x.rank() != 3 || y.rank() != 3) {
    call.fail("operands of rank " + std::to_string(x.rank()) + " and " + std::to_string(y.rank()) +
              ", expected batches of matrices (rank 3)");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], x.sizes[1], y.sizes[2]}, {}}};
}

Specs linear(const ops::linear_default<Call>& call) {
  const TensorSpec &x = call.input().spec(), &weight = call.weight().spec();
  if (x.rank() == 0 || weight.rank() != 2) {
    call.fail("input of rank " + std::to_string(x.rank()) + " and weight of rank " +
              std::to_string(weight.rank()) + ", expected at least 1 and exactly 2");
    return {x};
  }
  Dims sizes(x.sizes.begin(), x.sizes.end() - 1);
  sizes.push_back(weight.sizes[0]);
  return {{x.dtype, sizes, {}}};
}

constexpr ResultLayout kPoint = ResultLayout::kPointwise, kDense = ResultLayout::kContiguous;

constexpr Rule kRows[] = {
    row<ops::_log_softmax_default, same>(kPoint),
    row<ops::_softmax_default, same>(kPoint),
    row<ops::addmm_default, addmm>(kDense),
    row<ops::amax_default, reduce>(kDense),
    row<ops::amin_default, reduce>(kDense),
    row<ops::any_dim, reduce>(kDense),
    row<ops::any_dims, reduce>(kDense),
    row<ops::bmm_default, bmm>(kDense),
    row<ops::cummax_default, same_pair>(kDense),
    row<ops::cummin_default, same_pair>(kDense),
    row<ops::cumprod_default, same>(kDense),
    row<ops::cumsum_default, same>(kDense),
    row<ops::linear_default, linear>(kDense),
    row<ops::logcumsumexp_default, same>(kDense),
    row<ops::max_dim, reduce_pair>(kDense),
    row<ops::mean_dim, reduce>(kDense),
    row<ops::median_dim, reduce_pair>(kDense),
    row<ops::min_dim, reduce_pair>(kDense),
    row<ops::mm_default, mm>(kDense),
    row<ops::prod_dim_int, reduce>(kDense),
    row<ops::sum_dim_IntList, reduce>(kDense),
    row<ops::var_correction, reduce>(kDense),
    row<ops::transformers::grouped_mm_fallback_default, grouped_mm>(kDense),
};

}  // namespace

std::span<const Rule> reduction_rules() { return kRows; }

}  // namespace etb::infer
