// SPDX-License-Identifier: Apache-2.0
// Ops by eigenvalues of symmetric matrices and by singular values: pseudo-inverses, ranks, condition numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/_linalg_eigvals.hpp"
#include "ops/linalg_cond.hpp"
#include "ops/linalg_eigh.hpp"
#include "ops/linalg_eigvalsh.hpp"
#include "ops/linalg_matrix_exp.hpp"
#include "ops/linalg_matrix_rank.hpp"
#include "ops/linalg_pinv.hpp"
#include "ops/linalg_svd.hpp"
#include "ops/linalg_svdvals.hpp"
#include "ops/pinverse.hpp"
#include "ops/svd.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

bool is_matrix(const Call& call, const TensorSpec& spec) {
  if (spec.rank() >= 2) return true;
  call.fail("a tensor of rank " + std::to_string(spec.rank()) + ", expected matrices (rank 2 or more)");
  return false;
}
bool is_empty(const TensorSpec& spec) {
  return std::any_of(spec.sizes.begin(), spec.sizes.end(), [](Dim size) { return size.is(0); });
}
ValueId zeros(Builder& b, const Dims& sizes, Dtype dtype) {
  return b.call("aten.full.default", {sizes, Dim(0)}, {{"dtype", dtype}});
}
// The dtype of singular values, eigenvalues and tolerances.
Dtype value_dtype(Builder& b, ValueId matrix) { return ops::real_part(b.spec(matrix).dtype); }

Values eigh(Builder& b, const ops::linalg_eigh_default<Call>& a) {
  return b.call_all("aten._linalg_eigh.default", {a.self(), a.UPLO(), true});
}
Values eigvalsh(Builder& b, const ops::linalg_eigvalsh_default<Call>& a) {
  return {b.call_all("aten._linalg_eigh.default", {a.self(), a.UPLO(), false}).at(0)};
}
Values linalg_svd(Builder& b, const ops::linalg_svd_default<Call>& a) {
  return b.call_all("aten._linalg_svd.default", {a.A(), a.full_matrices(), true});
}
// PyTorch has no out variant of _linalg_eigvals.
Values eigvals(Builder& b, const ops::_linalg_eigvals_default<Call>& a) {
  return {b.call("aten.linalg_eigvals.default", {a.self()})};
}
Values svdvals(Builder& b, const ops::linalg_svdvals_default<Call>& a) { return {singular_values(b, a.A())}; }
// Returns V, where linalg_svd returns its adjoint. Without vectors both are zeros.
Values svd(Builder& b, const ops::svd_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (!is_matrix(a, in)) return {};
  if (a.compute_uv()) {
    const Values parts = b.call_all("aten._linalg_svd.default", {a.self(), !a.some(), true});
    return {parts[0], parts[1], adjoint(b, parts[2])};
  }
  Dims left = in.sizes, right = in.sizes;
  left.back() = left[left.size() - 2];
  right[right.size() - 2] = right.back();
  return {zeros(b, left, in.dtype), singular_values(b, a.self()), zeros(b, right, in.dtype)};
}

// 16-bit floats are computed in float32; the others have a kernel.
Values matrix_exp(Builder& b, const ops::linalg_matrix_exp_default<Call>& a) {
  const Dtype dtype = a.self().spec().dtype;
  if (dtype != Dtype::FLOAT16 && dtype != Dtype::BFLOAT16) return {};
  const ValueId wide = to_dtype(b, a.self(), Dtype::FLOAT32);
  return {to_dtype(b, b.call("aten.linalg_matrix_exp.default", {ValueRef{wide}}), dtype)};
}

// ---- Tolerances.

// Absolute and relative tolerance, as tensors that broadcast with the batch.
struct Tolerances {
  ValueId absolute, relative;
};

ValueId scalar(Builder& b, double value, Dtype dtype) {
  return b.call("aten.scalar_tensor.default", {value}, {{"dtype", dtype}});
}
// The relative tolerance that PyTorch uses where none is given: the larger size times the dtype's epsilon.
ValueId default_relative(Builder& b, ValueId a) {
  const Dims sizes = sizes_of(b, a);
  const Dtype dtype = value_dtype(b, a);
  const double epsilon = dtype == Dtype::FLOAT64 ? std::numeric_limits<double>::epsilon()
                                                 : double{std::numeric_limits<float>::epsilon()};
  const Dim larger = b.symbols().max(sizes[sizes.size() - 2], sizes.back());
  const ValueId size = b.call("aten.scalar_tensor.default", {larger}, {{"dtype", dtype}});
  return b.call("aten.mul.Scalar", {ValueRef{size}, epsilon});
}
// A given absolute tolerance above zero replaces the default relative one.
template <class A>
Tolerances tolerances(Builder& b, const A& a, ValueId matrix) {
  const Dtype dtype = value_dtype(b, matrix);
  const auto read = [&](const auto& argument) {
    if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, infer::NumberArgument>)
      return scalar(b, argument.number(), dtype);
    else
      return ValueId(argument);
  };
  const ValueId zero = scalar(b, 0, dtype);
  const ValueId absolute = a.atol().has_value() ? read(a.atol()) : zero;
  if (a.rtol().has_value()) return {absolute, read(a.rtol())};
  const ValueId relative = default_relative(b, matrix);
  if (!a.atol().has_value()) return {absolute, relative};
  const ValueId is_given = b.call("aten.gt.Scalar", {ValueRef{absolute}, Dim(0)});
  return {absolute, b.call("aten.where.self", {ValueRef{is_given}, ValueRef{zero}, ValueRef{relative}})};
}

// Eigenvalues of a symmetric matrix in any order and of any sign, or singular values, with their vectors.
struct Spectrum {
  ValueId values, left, right;  // matrix = left * diag(values) * right
};
Spectrum spectrum(Builder& b, ValueId matrix, bool is_hermitian) {
  if (is_hermitian) {
    const Values parts = b.call_all("aten._linalg_eigh.default", {ValueRef{matrix}, "L", true});
    return {parts[0], parts[1], adjoint(b, parts[1])};
  }
  const Values parts = b.call_all("aten._linalg_svd.default", {ValueRef{matrix}, false, true});
  return {parts[1], parts[0], parts[2]};
}
ValueId spectrum_sizes(Builder& b, ValueId matrix, bool is_hermitian) {
  if (!is_hermitian) return singular_values(b, matrix);
  const ValueId values = b.call_all("aten._linalg_eigh.default", {ValueRef{matrix}, "L", false}).at(0);
  return b.call("aten.abs.default", {ValueRef{values}});
}
// True where a magnitude is above max(absolute, relative * the largest).
ValueId is_above(Builder& b, ValueId sizes, Tolerances tolerance) {
  const auto column = [&](ValueId x) { return b.call("aten.unsqueeze.default", {ValueRef{x}, Dim(-1)}); };
  const ValueId largest = b.call("aten.amax.default", {ValueRef{sizes}, Dims{Dim(-1)}, true});
  const ValueId relative =
      b.call("aten.mul.Tensor", {ValueRef{column(tolerance.relative)}, ValueRef{largest}});
  const ValueId bound =
      b.call("aten.maximum.default", {ValueRef{column(tolerance.absolute)}, ValueRef{relative}});
  return b.call("aten.gt.Tensor", {ValueRef{sizes}, ValueRef{bound}});
}

Values pinv_of(Builder& b, ValueId matrix, Tolerances tolerance, bool is_hermitian) {
  Dims sizes = sizes_of(b, matrix);
  const Dtype dtype = b.spec(matrix).dtype;
  if (is_empty(b.spec(matrix))) {
    std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
    return {zeros(b, sizes, dtype)};
  }
  const Spectrum parts = spectrum(b, matrix, is_hermitian);
  const ValueId magnitudes =
      is_hermitian ? b.call("aten.abs.default", {ValueRef{parts.values}}) : parts.values;
  const ValueId inverses = b.call("aten.reciprocal.default", {ValueRef{parts.values}});
  const ValueId kept =
      b.call("aten.where.self", {ValueRef{is_above(b, magnitudes, tolerance)}, ValueRef{inverses},
                                 ValueRef{scalar(b, 0, value_dtype(b, matrix))}});
  const ValueId row = b.call("aten.unsqueeze.default", {ValueRef{kept}, Dim(-2)});
  const ValueId scaled = b.call("aten.mul.Tensor", {ValueRef{adjoint(b, parts.right)}, ValueRef{row}});
  return {matmul(b, scaled, adjoint(b, parts.left))};
}
template <class A>
Values pinv(Builder& b, const A& a) {
  if (!is_matrix(a, a.self().spec())) return {};
  return pinv_of(b, a.self(), tolerances(b, a, a.self()), a.hermitian());
}
Values pinv_of_number(Builder& b, const ops::linalg_pinv_default<Call>& a) {
  const Dtype dtype = value_dtype(b, a.self());
  if (!is_matrix(a, a.self().spec())) return {};
  return pinv_of(b, a.self(), {scalar(b, 0, dtype), scalar(b, a.rcond().number(), dtype)}, a.hermitian());
}
Values pinv_of_tensor(Builder& b, const ops::linalg_pinv_rcond_tensor<Call>& a) {
  if (!is_matrix(a, a.self().spec())) return {};
  return pinv_of(b, a.self(), {scalar(b, 0, value_dtype(b, a.self())), a.rcond()}, a.hermitian());
}
Values pinverse(Builder& b, const ops::pinverse_default<Call>& a) {
  const Dtype dtype = value_dtype(b, a.self());
  if (!is_matrix(a, a.self().spec())) return {};
  return pinv_of(b, a.self(), {scalar(b, 0, dtype), scalar(b, a.rcond().number(), dtype)}, false);
}

Values rank_of(Builder& b, ValueId matrix, Tolerances tolerance, bool is_hermitian) {
  if (is_empty(b.spec(matrix))) {
    Dims sizes = sizes_of(b, matrix);
    sizes.resize(sizes.size() - 2);
    return {zeros(b, sizes, Dtype::INT64)};
  }
  const ValueId magnitudes = spectrum_sizes(b, matrix, is_hermitian);
  return {b.call("aten.sum.dim_IntList", {ValueRef{is_above(b, magnitudes, tolerance)}, Dims{Dim(-1)}})};
}
Values rank_float(Builder& b, const ops::linalg_matrix_rank_atol_rtol_float<Call>& a) {
  if (!is_matrix(a, a.self().spec())) return {};
  return rank_of(b, a.self(), tolerances(b, a, a.self()), a.hermitian());
}
Values rank_tensor(Builder& b, const ops::linalg_matrix_rank_atol_rtol_tensor<Call>& a) {
  if (!is_matrix(a, a.input().spec())) return {};
  return rank_of(b, a.input(), tolerances(b, a, a.input()), a.hermitian());
}
Values rank_above_number(Builder& b, const ops::linalg_matrix_rank_default<Call>& a) {
  const Dtype dtype = value_dtype(b, a.self());
  if (!is_matrix(a, a.self().spec())) return {};
  return rank_of(b, a.self(), {scalar(b, a.tol().number(), dtype), scalar(b, 0, dtype)}, a.hermitian());
}
Values rank_above_tensor(Builder& b, const ops::linalg_matrix_rank_tol_tensor<Call>& a) {
  if (!is_matrix(a, a.input().spec())) return {};
  return rank_of(b, a.input(), {a.tol(), scalar(b, 0, value_dtype(b, a.input()))}, a.hermitian());
}

// ---- Condition numbers.

// The norm of the matrix times that of its inverse; infinity for a singular one.
template <class Norm>
Values condition_by_inverse(Builder& b, ValueId matrix, Norm norm) {
  const Values inverse = b.call_all("aten.linalg_inv_ex.default", {ValueRef{matrix}});
  const ValueId is_singular = b.call("aten.gt.Scalar", {ValueRef{inverse[1]}, Dim(0)});
  const ValueId product = b.call("aten.mul.Tensor", {ValueRef{norm(matrix)}, ValueRef{norm(inverse[0])}});
  const ValueId infinity = scalar(b, std::numeric_limits<double>::infinity(), value_dtype(b, matrix));
  return {b.call("aten.where.self", {ValueRef{is_singular}, ValueRef{infinity}, ValueRef{product}})};
}
ValueId no_condition(Builder& b, ValueId matrix) {
  Dims sizes = sizes_of(b, matrix);
  sizes.resize(sizes.size() - 2);
  return zeros(b, sizes, value_dtype(b, matrix));
}
Values cond(Builder& b, const ops::linalg_cond_default<Call>& a) {
  if (!is_matrix(a, a.self().spec())) return {};
  if (is_empty(a.self().spec())) return {no_condition(b, a.self())};
  const double order = a.p().has_value() ? a.p().number() : 2;
  if (std::abs(order) != 2) {
    return condition_by_inverse(b, a.self(), [&](ValueId x) {
      return b.call("aten.linalg_matrix_norm.default", {ValueRef{x}, order});
    });
  }
  const ValueId values = singular_values(b, a.self());
  const ValueId largest = b.call("aten.select.int", {ValueRef{values}, Dim(-1), Dim(0)});
  const ValueId smallest = b.call("aten.select.int", {ValueRef{values}, Dim(-1), Dim(-1)});
  return {order > 0 ? b.call("aten.div.Tensor", {ValueRef{largest}, ValueRef{smallest}})
                    : b.call("aten.div.Tensor", {ValueRef{smallest}, ValueRef{largest}})};
}
Values cond_named(Builder& b, const ops::linalg_cond_p_str<Call>& a) {
  if (!is_matrix(a, a.self().spec())) return {};
  if (is_empty(a.self().spec())) return {no_condition(b, a.self())};
  return condition_by_inverse(b, a.self(), [&](ValueId x) {
    return b.call("aten.linalg_matrix_norm.str_ord", {ValueRef{x}, a.p()});
  });
}

}  // namespace

ValueId singular_values(Builder& b, ValueId matrix) {
  return b.call_all("aten._linalg_svd.default", {ValueRef{matrix}, false, false}).at(1);
}

std::span<const Decomposition> spectrum_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_linalg_eigvals_default, eigvals>(),
      row<ops::linalg_cond_default, cond>(),
      row<ops::linalg_cond_p_str, cond_named>(),
      row<ops::linalg_eigh_default, eigh>(),
      row<ops::linalg_eigvalsh_default, eigvalsh>(),
      row<ops::linalg_matrix_exp_default, matrix_exp>(),
      row<ops::linalg_matrix_rank_atol_rtol_float, rank_float>(),
      row<ops::linalg_matrix_rank_atol_rtol_tensor, rank_tensor>(),
      row<ops::linalg_matrix_rank_default, rank_above_number>(),
      row<ops::linalg_matrix_rank_tol_tensor, rank_above_tensor>(),
      row<ops::linalg_pinv_atol_rtol_float, pinv<ops::linalg_pinv_atol_rtol_float<Call>>>(),
      row<ops::linalg_pinv_atol_rtol_tensor, pinv<ops::linalg_pinv_atol_rtol_tensor<Call>>>(),
      row<ops::linalg_pinv_default, pinv_of_number>(),
      row<ops::linalg_pinv_rcond_tensor, pinv_of_tensor>(),
      row<ops::linalg_svd_default, linalg_svd>(),
      row<ops::linalg_svdvals_default, svdvals>(),
      row<ops::pinverse_default, pinverse>(),
      row<ops::svd_default, svd>(),
  };
  return kRows;
}

}  // namespace etb::passes
