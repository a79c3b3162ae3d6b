// SPDX-License-Identifier: Apache-2.0
// Linear systems, inverses, determinants and orthogonal bases by factorisations that have kernels: LU, Cholesky and QR.
#include <algorithm>
#include <limits>

#include "ops/_linalg_det.hpp"
#include "ops/_linalg_slogdet.hpp"
#include "ops/_linalg_solve_ex.hpp"
#include "ops/_lu_with_info.hpp"
#include "ops/cholesky_inverse.hpp"
#include "ops/cholesky_solve.hpp"
#include "ops/linalg_det.hpp"
#include "ops/linalg_inv.hpp"
#include "ops/linalg_inv_ex.hpp"
#include "ops/linalg_ldl_factor.hpp"
#include "ops/linalg_lu.hpp"
#include "ops/linalg_lu_factor.hpp"
#include "ops/linalg_qr.hpp"
#include "ops/linalg_slogdet.hpp"
#include "ops/linalg_solve.hpp"
#include "ops/linalg_solve_ex.hpp"
#include "ops/linalg_tensorinv.hpp"
#include "ops/linalg_tensorsolve.hpp"
#include "ops/logdet.hpp"
#include "ops/qr.hpp"
#include "ops/slogdet.hpp"
#include "ops/triangular_solve.hpp"
#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

namespace {

Values factor_lu(Builder& b, ValueId a, bool checks_errors) {
  return b.call_all("aten.linalg_lu_factor_ex.default", {ValueRef{a}}, {{"check_errors", checks_errors}});
}
ValueId diagonal(Builder& b, ValueId a) {
  return b.call("aten.diagonal.default", {ValueRef{a}, Dim(0), Dim(-2), Dim(-1)});
}
// Fails for a tensor that is no matrix, so that sizes may be read.
bool is_matrix(const Call& call, const TensorSpec& spec) {
  if (spec.rank() >= 2) return true;
  call.fail("a tensor of rank " + std::to_string(spec.rank()) + ", expected matrices (rank 2 or more)");
  return false;
}

// ---- Determinants.

// 1 where an even number of rows was exchanged, else -1. Pivots count rows from 1.
ValueId sign_of_exchanges(Builder& b, ValueId pivots, Dtype dtype) {
  const Dims sizes = sizes_of(b, pivots);
  const Dim count = sizes.empty() ? Dim(0) : sizes.back();
  const ValueId own = b.call("aten.arange.start_step", {Dim(1), b.symbols().add(count, Dim(1))},
                             {{"dtype", b.spec(pivots).dtype}});
  const ValueId is_moved = b.call("aten.ne.Tensor", {ValueRef{pivots}, ValueRef{own}});
  const ValueId moves = b.call("aten.sum.dim_IntList", {ValueRef{is_moved}, Dims{Dim(-1)}});
  const ValueId is_odd = b.call("aten.bitwise_and.Scalar", {ValueRef{moves}, Dim(1)});
  const ValueId odd = to_dtype(b, is_odd, dtype);
  return b.call("aten.add.Scalar", {ValueRef{b.call("aten.mul.Scalar", {ValueRef{odd}, -2.0})}, 1.0});
}
ValueId product_of_last(Builder& b, ValueId x) { return b.call("aten.prod.dim_int", {ValueRef{x}, Dim(-1)}); }

struct Determinant {
  ValueId value, lu, pivots;
};
Determinant determinant(Builder& b, ValueId a) {
  const Values factors = factor_lu(b, a, false);
  const ValueId sign = sign_of_exchanges(b, factors[1], ops::real_part(b.spec(a).dtype));
  const ValueId size = product_of_last(b, diagonal(b, factors[0]));
  return {b.call("aten.mul.Tensor", {ValueRef{size}, ValueRef{sign}}), factors[0], factors[1]};
}
struct LogDeterminant {
  ValueId sign, logarithm, lu, pivots;
};
LogDeterminant log_determinant(Builder& b, ValueId a) {
  const Values factors = factor_lu(b, a, false);
  const ValueId exchanges = sign_of_exchanges(b, factors[1], ops::real_part(b.spec(a).dtype));
  const ValueId main = diagonal(b, factors[0]);
  const ValueId signs = product_of_last(b, b.call("aten.sgn.default", {ValueRef{main}}));
  const ValueId sizes = b.call("aten.abs.default", {ValueRef{main}});
  const ValueId logarithms = b.call("aten.log.default", {ValueRef{sizes}});
  return {b.call("aten.mul.Tensor", {ValueRef{signs}, ValueRef{exchanges}}),
          b.call("aten.sum.dim_IntList", {ValueRef{logarithms}, Dims{Dim(-1)}}), factors[0], factors[1]};
}

Values linalg_det(Builder& b, const ops::linalg_det_default<Call>& a) {
  return is_matrix(a, a.A().spec()) ? Values{determinant(b, a.A()).value} : Values{};
}
Values det_and_factors(Builder& b, const ops::_linalg_det_default<Call>& a) {
  if (!is_matrix(a, a.A().spec())) return {};
  const Determinant det = determinant(b, a.A());
  return {det.value, det.lu, det.pivots};
}
template <class A>
Values slogdet_of(Builder& b, const A& a, ValueId x) {
  if (!is_matrix(a, b.spec(x))) return {};
  const LogDeterminant det = log_determinant(b, x);
  return {det.sign, det.logarithm, det.lu, det.pivots};
}
Values slogdet(Builder& b, const ops::slogdet_default<Call>& a) { return slogdet_of(b, a, a.self()); }
Values linalg_slogdet(Builder& b, const ops::linalg_slogdet_default<Call>& a) {
  return slogdet_of(b, a, a.A());
}
Values slogdet_and_factors(Builder& b, const ops::_linalg_slogdet_default<Call>& a) {
  return slogdet_of(b, a, a.A());
}
// NaN for a negative determinant; that of a complex one is complex.
Values logdet(Builder& b, const ops::logdet_default<Call>& a) {
  if (!is_matrix(a, a.self().spec())) return {};
  const LogDeterminant det = log_determinant(b, a.self());
  if (ops::is_complex(a.self().spec().dtype)) {
    const ValueId turn = b.call("aten.log.default", {ValueRef{det.sign}});
    return {b.call("aten.add.Tensor", {ValueRef{turn}, ValueRef{det.logarithm}})};
  }
  const ValueId is_negative = b.call("aten.eq.Scalar", {ValueRef{det.sign}, -1.0});
  const ValueId nan = b.call("aten.scalar_tensor.default", {std::numeric_limits<double>::quiet_NaN()},
                             {{"dtype", a.self().spec().dtype}});
  return {b.call("aten.where.self", {ValueRef{is_negative}, ValueRef{nan}, ValueRef{det.logarithm}})};
}

// ---- Systems and inverses.

struct Solution {
  ValueId x, lu, pivots, info;
};

// PyTorch takes `right_side` as a batch of vectors where it has the sizes of the matrices without the last one.
Solution solve_system(Builder& b, ValueId a, ValueId right_side, const Argument& is_left,
                      bool checks_errors) {
  const Dims sizes = sizes_of(b, a), others = sizes_of(b, right_side);
  const bool is_vector = others.size() == 1 || (others.size() + 1 == sizes.size() &&
                                                std::equal(others.begin(), others.end(), sizes.begin()));
  const Values factors = factor_lu(b, a, checks_errors);
  const ValueId matrix =
      is_vector ? b.call("aten.unsqueeze.default", {ValueRef{right_side}, Dim(-1)}) : right_side;
  const ValueId x =
      b.call("aten.linalg_lu_solve.default", {ValueRef{factors[0]}, ValueRef{factors[1]}, ValueRef{matrix}},
             {{"left", is_left}});
  return {is_vector ? b.call("aten.squeeze.dim", {ValueRef{x}, Dim(-1)}) : x, factors[0], factors[1],
          factors[2]};
}
Values linalg_solve(Builder& b, const ops::linalg_solve_default<Call>& a) {
  if (!is_matrix(a, a.A().spec())) return {};
  return {solve_system(b, a.A(), a.B(), a.left(), true).x};
}
Values solve_ex(Builder& b, const ops::linalg_solve_ex_default<Call>& a) {
  if (!is_matrix(a, a.A().spec())) return {};
  const Solution found = solve_system(b, a.A(), a.B(), a.left(), a.check_errors());
  return {found.x, found.info};
}
Values solve_and_factors(Builder& b, const ops::_linalg_solve_ex_default<Call>& a) {
  if (!is_matrix(a, a.A().spec())) return {};
  const Solution found = solve_system(b, a.A(), a.B(), a.left(), a.check_errors());
  return {found.x, found.lu, found.pivots, found.info};
}

Values inverse_of(Builder& b, const Call& call, ValueId a, bool checks_errors) {
  if (!is_matrix(call, b.spec(a))) return {};
  const Dim size = sizes_of(b, a).back();
  const ValueId one = identity_matrix(b, size, size, b.spec(a).dtype);
  const Values factors = factor_lu(b, a, checks_errors);
  return {b.call("aten.linalg_lu_solve.default", {ValueRef{factors[0]}, ValueRef{factors[1]}, ValueRef{one}}),
          factors[2]};
}
Values linalg_inv(Builder& b, const ops::linalg_inv_default<Call>& a) {
  return inverse_of(b, a, a.A(), true);
}
Values inv_ex(Builder& b, const ops::linalg_inv_ex_default<Call>& a) {
  return inverse_of(b, a, a.A(), a.check_errors());
}

Dim product_of(Builder& b, const Dims& sizes, size_t begin, size_t end) {
  Dim out(1);
  for (size_t i = begin; i < end; ++i) out = b.symbols().mul(out, sizes[i]);
  return out;
}
// The tensor as a matrix whose columns are the first `ind` dimensions.
Values tensorinv(Builder& b, const ops::linalg_tensorinv_default<Call>& a) {
  const Dims sizes = a.self().spec().sizes;
  const int64_t count = a.ind().integer();
  if (count < 1 || static_cast<uint64_t>(count) > sizes.size()) {
    a.fail("ind is " + std::to_string(count) + ", expected 1 to the rank " + std::to_string(sizes.size()));
    return {};
  }
  const auto split = static_cast<size_t>(count);
  Dims out(sizes.begin() + count, sizes.end());
  out.insert(out.end(), sizes.begin(), sizes.begin() + count);
  const ValueId matrix =
      reshape(b, a.self(), {product_of(b, sizes, split, sizes.size()), product_of(b, sizes, 0, split)});
  const Values inverse = inverse_of(b, a, matrix, true);
  return inverse.empty() ? inverse : Values{reshape(b, inverse[0], std::move(out))};
}
// The last dimensions of the left side, after `dims` have moved there, are those of the solution.
Values tensorsolve(Builder& b, const ops::linalg_tensorsolve_default<Call>& a) {
  const size_t rank = a.self().spec().rank(), other_rank = a.other().spec().rank();
  ValueId left = a.self();
  if (const Dims moved = a.dims().dims(); a.dims().has_value() && !moved.empty() && moved.size() <= rank) {
    Dims ends;
    for (size_t i = 0; i < moved.size(); ++i)
      ends.emplace_back(static_cast<int64_t>(rank - moved.size() + i));
    left = b.call("aten.movedim.intlist", {ValueRef{left}, moved, ends});
  }
  if (other_rank > rank) {
    a.fail("a left side of rank " + std::to_string(rank) + " and a right side of rank " +
           std::to_string(other_rank) + ", expected at most the left side's rank");
    return {};
  }
  const Dims sizes = sizes_of(b, left);
  const Dims out(sizes.begin() + static_cast<int64_t>(other_rank), sizes.end());
  const Dim count = product_of(b, sizes, other_rank, rank);
  const ValueId matrix = reshape(b, left, {count, count}), vector = reshape(b, a.other(), {Dim(-1)});
  return {reshape(b, solve_system(b, matrix, vector, true, true).x, out)};
}

// ---- LU factors as results.

Values linalg_lu(Builder& b, const ops::linalg_lu_default<Call>& a) {
  const Values factors = b.call_all("aten.linalg_lu_factor_ex.default", {a.A()}, {{"pivot", a.pivot()}});
  return b.call_all("aten.lu_unpack.default", {ValueRef{factors[0]}, ValueRef{factors[1]}, true, a.pivot()});
}
Values lu_factor(Builder& b, const ops::linalg_lu_factor_default<Call>& a) {
  return b.call_all("aten.linalg_lu_factor_ex.default", {a.A()},
                    {{"pivot", a.pivot()}, {"check_errors", true}});
}
Values lu_with_info(Builder& b, const ops::_lu_with_info_default<Call>& a) {
  return b.call_all("aten.linalg_lu_factor_ex.default", {a.self()},
                    {{"pivot", a.pivot()}, {"check_errors", a.check_errors()}});
}
Values ldl_factor(Builder& b, const ops::linalg_ldl_factor_default<Call>& a) {
  return b.call_all("aten.linalg_ldl_factor_ex.default", {a.self()},
                    {{"hermitian", a.hermitian()}, {"check_errors", true}});
}

// ---- Triangular systems.

ValueId solve_triangle(Builder& b, ValueId triangle, ValueId right_side, bool is_upper,
                       const Argument& is_unit, bool is_left) {
  return b.call("aten.linalg_solve_triangular.default", {ValueRef{triangle}, ValueRef{right_side}},
                {{"upper", is_upper}, {"left", is_left}, {"unitriangular", is_unit}});
}
ValueId turned(Builder& b, ValueId matrix) { return transpose(b, matrix, -2, -1); }

// The second result is the matrix, for each item of the batch.
Values triangular_solve(Builder& b, const ops::triangular_solve_default<Call>& a) {
  if (!is_matrix(a, a.A().spec()) || !is_matrix(a, a.self().spec())) return {};
  // The right side, which is often a column, is transposed instead of the matrix.
  const bool is_transposed = a.transpose();
  const ValueId right_side = is_transposed ? turned(b, a.self()) : ValueId(a.self());
  const ValueId solved = solve_triangle(b, a.A(), right_side, a.upper(), a.unitriangular(), !is_transposed);
  const ValueId x = is_transposed ? turned(b, solved) : solved;
  Dims sizes = sizes_of(b, x);
  if (sizes.size() < 2) return {};  // the systems do not fit
  sizes.back() = sizes[sizes.size() - 2];
  return {x, b.call("aten.expand.default", {a.A(), sizes})};
}
// L L^H X = B, or U^H U X = B. T^H Y = B is solved as Y^H T = B^H, which transposes right sides, which are often columns.
ValueId solve_cholesky(Builder& b, ValueId factor, ValueId right_side, bool is_upper) {
  const auto solve_adjoint = [&](ValueId x) {
    return adjoint(b, solve_triangle(b, factor, adjoint(b, x), is_upper, false, false));
  };
  const auto solve = [&](ValueId x) { return solve_triangle(b, factor, x, is_upper, false, true); };
  return is_upper ? solve(solve_adjoint(right_side)) : solve_adjoint(solve(right_side));
}
Values cholesky_solve(Builder& b, const ops::cholesky_solve_default<Call>& a) {
  if (!is_matrix(a, a.input2().spec())) return {};
  return {solve_cholesky(b, a.input2(), a.self(), a.upper())};
}
Values cholesky_inverse(Builder& b, const ops::cholesky_inverse_default<Call>& a) {
  const TensorSpec in = a.self().spec();
  if (!is_matrix(a, in)) return {};
  return {
      solve_cholesky(b, a.self(), identity_matrix(b, in.sizes.back(), in.sizes.back(), in.dtype), a.upper())};
}

// ---- QR.

// Reflections beside R; then the product of the reflections as many columns wide as wanted.
Values qr_of(Builder& b, const Call& call, ValueId a, bool has_q, bool is_complete) {
  if (!is_matrix(call, b.spec(a))) return {};
  const Dims sizes = sizes_of(b, a);
  const Dim rows = sizes[sizes.size() - 2], columns = sizes.back(), count = b.symbols().min(rows, columns);
  const Values factors = b.call_all("aten.geqrf.default", {ValueRef{a}});
  const ValueId top =
      is_complete ? factors[0] : b.call("aten.slice.Tensor", {ValueRef{factors[0]}, Dim(-2), Dim(0), count});
  const ValueId r = b.call("aten.triu.default", {ValueRef{top}});
  if (!has_q) {
    const ValueId none = b.call("aten.full.default", {Dims{Dim(0)}, Dim(0)}, {{"dtype", b.spec(a).dtype}});
    return {none, r};
  }
  ValueId reflections = b.call("aten.slice.Tensor", {ValueRef{factors[0]}, Dim(-1), Dim(0), count});
  if (is_complete) {
    Dims missing = sizes;
    missing.back() = b.symbols().sub(rows, count);
    const ValueId zeros = b.call("aten.full.default", {missing, Dim(0)}, {{"dtype", b.spec(a).dtype}});
    reflections = b.call("aten.cat.default", {ir::ValueList{{reflections, zeros}}, Dim(-1)});
  }
  return {b.call("aten.linalg_householder_product.default", {ValueRef{reflections}, ValueRef{factors[1]}}),
          r};
}
Values linalg_qr(Builder& b, const ops::linalg_qr_default<Call>& a) {
  const std::string* mode = a.mode().find_text();
  if (mode == nullptr || (*mode != "reduced" && *mode != "complete" && *mode != "r")) {
    a.fail("mode '" + (mode == nullptr ? std::string() : *mode) + "', expected 'reduced', 'complete' or 'r'");
    return {};
  }
  return qr_of(b, a, a.A(), *mode != "r", *mode == "complete");
}
Values qr(Builder& b, const ops::qr_default<Call>& a) { return qr_of(b, a, a.self(), true, !a.some()); }

}  // namespace

ValueId adjoint(Builder& b, ValueId matrix) {
  return ops::is_complex(b.spec(matrix).dtype) ? b.call("aten.mH.default", {ValueRef{matrix}})
                                               : transpose(b, matrix, -2, -1);
}

std::span<const Decomposition> linear_system_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::_linalg_det_default, det_and_factors>(),
      row<ops::_linalg_slogdet_default, slogdet_and_factors>(),
      row<ops::_linalg_solve_ex_default, solve_and_factors>(),
      row<ops::_lu_with_info_default, lu_with_info>(),
      row<ops::cholesky_inverse_default, cholesky_inverse>(),
      row<ops::cholesky_solve_default, cholesky_solve>(),
      row<ops::linalg_det_default, linalg_det>(),
      row<ops::linalg_inv_default, linalg_inv>(),
      row<ops::linalg_inv_ex_default, inv_ex>(),
      row<ops::linalg_ldl_factor_default, ldl_factor>(),
      row<ops::linalg_lu_default, linalg_lu>(),
      row<ops::linalg_lu_factor_default, lu_factor>(),
      row<ops::linalg_qr_default, linalg_qr>(),
      row<ops::linalg_slogdet_default, linalg_slogdet>(),
      row<ops::linalg_solve_default, linalg_solve>(),
      row<ops::linalg_solve_ex_default, solve_ex>(),
      row<ops::linalg_tensorinv_default, tensorinv>(),
      row<ops::linalg_tensorsolve_default, tensorsolve>(),
      row<ops::logdet_default, logdet>(),
      row<ops::qr_default, qr>(),
      row<ops::slogdet_default, slogdet>(),
      row<ops::triangular_solve_default, triangular_solve>(),
  };
  return kRows;
}

}  // namespace etb::passes
