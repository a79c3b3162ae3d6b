// SPDX-License-Identifier: Apache-2.0
// Short names for the calls of elementwise ops and reductions, for decompositions that are arithmetic.
#pragma once

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

class Arithmetic {
 public:
  explicit Arithmetic(Builder& b) : b_(b) {}

  ValueId add(ValueId x, ValueId y) { return two("aten.add.Tensor", x, y); }
  ValueId sub(ValueId x, ValueId y) { return two("aten.sub.Tensor", x, y); }
  ValueId mul(ValueId x, ValueId y) { return two("aten.mul.Tensor", x, y); }
  ValueId div(ValueId x, ValueId y) { return two("aten.div.Tensor", x, y); }
  ValueId times(ValueId x, double factor) { return b_.call("aten.mul.Scalar", {ValueRef{x}, factor}); }
  ValueId plus(ValueId x, double number) { return b_.call("aten.add.Scalar", {ValueRef{x}, number}); }
  ValueId call(const char* op, ValueId x) { return b_.call(op, {ValueRef{x}}); }
  // Sums over `dims`, none of which means no sum.
  ValueId sum(ValueId x, const Dims& dims, bool keeps_dims = false) {
    return dims.empty() ? x : b_.call("aten.sum.dim_IntList", {ValueRef{x}, dims, keeps_dims});
  }
  ValueId mean(ValueId x, const Dims& dims, bool keeps_dims = false) {
    return dims.empty() ? x : b_.call("aten.mean.dim", {ValueRef{x}, dims, keeps_dims});
  }
  // `value` where `condition` is false, else 0.
  ValueId zero_where(ValueId condition, ValueId value) {
    return b_.call("aten.where.ScalarSelf", {ValueRef{condition}, Dim(0), ValueRef{value}});
  }
  ValueId unsqueeze(ValueId x, int64_t dim) {
    return b_.call("aten.unsqueeze.default", {ValueRef{x}, Dim(dim)});
  }
  ValueId zeros(Dims sizes, Dtype dtype) {
    return b_.call("aten.full.default", {std::move(sizes), Dim(0)}, {{"dtype", dtype}});
  }
  // A result that the call's output mask leaves out.
  ValueId left_out(Dtype dtype) { return zeros({Dim(0)}, dtype); }

 private:
  ValueId two(const char* op, ValueId x, ValueId y) { return b_.call(op, {ValueRef{x}, ValueRef{y}}); }

  Builder& b_;
};

// The dtype in which PyTorch computes with 16-bit floats.
inline Dtype wide_dtype(Dtype dtype) {
  return dtype == Dtype::FLOAT16 || dtype == Dtype::BFLOAT16 ? Dtype::FLOAT32 : dtype;
}

}  // namespace etb::passes
