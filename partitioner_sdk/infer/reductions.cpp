// Reductions, and products of matrices.
#include <algorithm>
#include <array>

#include "api/ops/sizes/reduction.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::Dtype;
using ir::TensorSpec;

TensorSpec reduced(const Call& call, const std::vector<bool>& axes, bool keeps_dims) {
  const TensorSpec& in = call.tensor(0);
  TensorSpec out{in.dtype, {}, {}};
  ops::reduce_sizes(
      Formulas(call.symbols()), in.sizes, [&](size_t i) { return axes[i]; }, keeps_dims,
      [&](Dim size) { out.sizes.push_back(size); });
  return out;
}

Specs reduce(const Call& call) { return {reduced(call, call.axes(1, call.tensor(0).rank()), call.flag(2))}; }
Specs mean_dim(const Call& call) {
  Specs out = reduce(call);
  out[0].dtype = call.dtype(3).value_or(out[0].dtype);
  return out;
}
Specs sum_dim(const Call& call) {
  Specs out = reduce(call);
  if (!ops::is_floating(out[0].dtype)) out[0].dtype = Dtype::INT64;
  out[0].dtype = call.dtype(3).value_or(out[0].dtype);
  return out;
}
Specs any_dim(const Call& call) {
  Specs out = reduce(call);
  out[0].dtype = Dtype::BOOL;
  return out;
}
Specs var_correction(const Call& call) {
  return {reduced(call, call.axes(1, call.tensor(0).rank()), call.flag(3))};
}
Specs cumsum(const Call& call) {
  TensorSpec out = call.tensor(0);
  if (!ops::is_floating(out.dtype)) out.dtype = Dtype::INT64;
  out.dtype = call.dtype(2).value_or(out.dtype);
  return {out};
}
Specs softmax(const Call& call) {
  TensorSpec out = call.tensor(0);
  if (call.flag(2)) out.dtype = Dtype::FLOAT32;
  return {out};
}

// ---- Matrices.

Specs mm(const Call& call, size_t a, size_t b) {
  const TensorSpec &x = call.tensor(a), &y = call.tensor(b);
  if (x.rank() != 2 || y.rank() != 2) {
    call.fail("matrices expected");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], y.sizes[1]}, {}}};
}
Specs mm_two(const Call& call) { return mm(call, 0, 1); }
Specs addmm(const Call& call) { return mm(call, 1, 2); }
Specs bmm(const Call& call) {
  const TensorSpec &x = call.tensor(0), &y = call.tensor(1);
  if (x.rank() != 3 || y.rank() != 3) {
    call.fail("batches of matrices expected");
    return {x};
  }
  return {{x.dtype, {x.sizes[0], x.sizes[1], y.sizes[2]}, {}}};
}

Specs linear(const Call& call) {
  const TensorSpec &x = call.tensor(0), &weight = call.tensor(1);
  if (x.rank() == 0 || weight.rank() != 2) {
    call.fail("rows and a matrix expected");
    return {x};
  }
  Dims sizes(x.sizes.begin(), x.sizes.end() - 1);
  sizes.push_back(weight.sizes[0]);
  return {{x.dtype, sizes, {}}};
}

constexpr ResultLayout kPoint = ResultLayout::kPointwise, kDense = ResultLayout::kContiguous;

constexpr Rule kRows[] = {
    {"aten._log_softmax.default", softmax, kPoint},
    {"aten._softmax.default", softmax, kPoint},
    {"aten.addmm.default", addmm, kDense},
    {"aten.amax.default", reduce, kDense},
    {"aten.amin.default", reduce, kDense},
    {"aten.any.dim", any_dim, kDense},
    {"aten.any.dims", any_dim, kDense},
    {"aten.bmm.default", bmm, kDense},
    {"aten.cumsum.default", cumsum, kDense},
    {"aten.linear.default", linear, kDense},
    {"aten.mean.dim", mean_dim, kDense},
    {"aten.mm.default", mm_two, kDense},
    {"aten.sum.dim_IntList", sum_dim, kDense},
    {"aten.var.correction", var_correction, kDense},
};

}  // namespace

std::span<const Rule> reduction_rules() { return kRows; }

}  // namespace etb::infer
