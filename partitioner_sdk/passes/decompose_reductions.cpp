// Reductions and norms.
#include <limits>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Dims all_axes(const Arguments& a) {
  Dims out;
  for (size_t i = 0; i < a.tensor(0).rank(); ++i) out.emplace_back(static_cast<int64_t>(i));
  return out;
}

Values sum_all(Builder& b, const Arguments& a) {
  return {b.call("aten.sum.dim_IntList", {a.argument(0), Dims{}, false}, {{"dtype", a.argument(1)}})};
}

// self, dim, unbiased, keepdim
Values var_dim(Builder& b, const Arguments& a) {
  const Dim correction = a.flag(2) ? 1 : 0;
  return {b.call("aten.var.correction", {a.argument(0), a.argument(1)},
                 {{"correction", correction}, {"keepdim", a.argument(3)}})};
}
Values std_dim(Builder& b, const Arguments& a) {
  return {b.call("aten.sqrt.default", {ValueRef{var_dim(b, a).front()}})};
}
Values var_all(Builder& b, const Arguments& a) {
  return {
      b.call("aten.var.correction", {a.argument(0), all_axes(a)}, {{"correction", Dim(a.flag(1) ? 1 : 0)}})};
}
Values std_correction(Builder& b, const Arguments& a) {
  const ValueId variance = b.call("aten.var.correction", {a.argument(0), a.argument(1)},
                                  {{"correction", a.argument(2)}, {"keepdim", a.argument(3)}});
  return {b.call("aten.sqrt.default", {ValueRef{variance}})};
}

// self, ord, dim, keepdim, dtype: (sum x^p)^(1/p). Even orders need no absolute value.
Values vector_norm(Builder& b, const Arguments& a) {
  const double order = a.number(1);
  if (order != 2 || a.has(4)) {
    a.fail("norm of another order than 2");
    return {};
  }
  const ValueId square = b.call("aten.pow.Tensor_Scalar", {a.argument(0), Dim(2)});
  const Argument dims = a.has(2) ? Argument(a.dims(2)) : Argument(Dims{});
  const ValueId total = b.call("aten.sum.dim_IntList", {ValueRef{square}, dims, a.argument(3)});
  return {b.call("aten.pow.Tensor_Scalar", {ValueRef{total}, 0.5})};
}

Values all_dim(Builder& b, const Arguments& a) {
  const ValueId is_off = b.call("aten.logical_not.default", {a.argument(0)});
  const ValueId some = b.call("aten.any.dim", {ValueRef{is_off}, a.argument(1), a.argument(2)});
  return {b.call("aten.logical_not.default", {ValueRef{some}})};
}

// max(x) + log(sum(exp(x - max(x)))), with infinite maxima taken as 0.
Values logsumexp(Builder& b, const Arguments& a) {
  const ValueId top = b.call("aten.amax.default", {a.argument(0), a.argument(1), true});
  const ValueId is_infinite = b.call("aten.eq.Scalar", {ValueRef{b.call("aten.abs.default", {ValueRef{top}})},
                                                        std::numeric_limits<double>::infinity()});
  const ValueId zero = b.call("aten.scalar_tensor.default", {Dim(0)}, {{"dtype", a.tensor(0).dtype}});
  const ValueId shift = b.call("aten.where.self", {ValueRef{is_infinite}, ValueRef{zero}, ValueRef{top}});
  const ValueId kept = a.flag(2) ? shift : b.call("aten.squeeze.dims", {ValueRef{shift}, a.argument(1)});
  const ValueId lowered = b.call("aten.sub.Tensor", {a.argument(0), ValueRef{shift}});
  const ValueId total =
      b.call("aten.sum.dim_IntList",
             {ValueRef{b.call("aten.exp.default", {ValueRef{lowered}})}, a.argument(1), a.argument(2)});
  return {
      b.call("aten.add.Tensor", {ValueRef{b.call("aten.log.default", {ValueRef{total}})}, ValueRef{kept}})};
}

}  // namespace

std::span<const Decomposition> reduction_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten.all.dim", all_dim},
      {"aten.linalg_vector_norm.default", vector_norm},
      {"aten.logsumexp.default", logsumexp},
      {"aten.std.correction", std_correction},
      {"aten.std.dim", std_dim},
      {"aten.sum.default", sum_all},
      {"aten.var.default", var_all},
      {"aten.var.dim", var_dim},
  };
  return kRows;
}

}  // namespace etb::passes
