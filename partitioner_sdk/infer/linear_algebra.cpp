// SPDX-License-Identifier: Apache-2.0
// Factorisations of matrices, and solutions of linear systems. The last two dimensions are the matrix, the others a batch.
#include "ops/_linalg_eigh.hpp"
#include "ops/_linalg_svd.hpp"
#include "ops/geqrf.hpp"
#include "ops/linalg_cholesky_ex.hpp"
#include "ops/linalg_eig.hpp"
#include "ops/linalg_eigvals.hpp"
#include "ops/linalg_householder_product.hpp"
#include "ops/linalg_ldl_factor_ex.hpp"
#include "ops/linalg_ldl_solve.hpp"
#include "ops/linalg_lu_factor_ex.hpp"
#include "ops/linalg_lu_solve.hpp"
#include "ops/linalg_matrix_exp.hpp"
#include "ops/linalg_solve_triangular.hpp"
#include "ops/lu_unpack.hpp"
#include "ops/ormqr.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

// A batch of matrices, by sizes.
struct Matrices {
  Dims batch;
  Dim rows, columns, smaller;

  Matrices(const Call& call, const TensorSpec& spec) {
    if (spec.rank() < 2) {
      call.fail("a tensor of rank " + std::to_string(spec.rank()) + ", expected matrices (rank 2 or more)");
      return;
    }
    batch.assign(spec.sizes.begin(), spec.sizes.end() - 2);
    rows = spec.sizes[spec.rank() - 2];
    columns = spec.sizes[spec.rank() - 1];
    smaller = call.symbols().min(rows, columns);
  }
  // The batch with items of these sizes.
  TensorSpec with(const Dims& item) const {
    TensorSpec out;
    out.sizes = batch;
    out.sizes.insert(out.sizes.end(), item.begin(), item.end());
    return out;
  }
};

// An absent result has no elements.
TensorSpec absent() {
  TensorSpec out;
  out.sizes = {Dim(0)};
  return out;
}

Specs lu_factor(const ops::linalg_lu_factor_ex_default<Call>& call) {
  const Matrices a(call, call.A().spec());
  return {call.A().spec(), a.with({a.smaller}), a.with({})};
}
Specs lu_unpack(const ops::lu_unpack_default<Call>& call) {
  const Matrices a(call, call.LU_data().spec());
  const bool has_data = call.unpack_data();
  return {call.unpack_pivots() ? a.with({a.rows, a.rows}) : absent(),
          has_data ? a.with({a.rows, a.smaller}) : absent(),
          has_data ? a.with({a.smaller, a.columns}) : absent()};
}
Specs factor_and_info(const ops::linalg_cholesky_ex_default<Call>& call) {
  return {call.self().spec(), Matrices(call, call.self().spec()).with({})};
}
Specs ldl_factor(const ops::linalg_ldl_factor_ex_default<Call>& call) {
  const Matrices a(call, call.self().spec());
  return {call.self().spec(), a.with({a.columns}), a.with({})};
}
Specs geqrf(const ops::geqrf_default<Call>& call) {
  const Matrices a(call, call.self().spec());
  return {call.self().spec(), a.with({a.smaller})};
}
Specs householder_product(const ops::linalg_householder_product_default<Call>& call) {
  return {call.input().spec()};
}
Specs ormqr(const ops::ormqr_default<Call>& call) { return {call.input3().spec()}; }
Specs matrix_exp(const ops::linalg_matrix_exp_default<Call>& call) { return {call.self().spec()}; }

// The right side, with the batches of both broadcast.
Specs solution(const Call& call, const TensorSpec& factors, const TensorSpec& right_side) {
  Matrices a(call, factors);
  const Matrices b(call, right_side);
  a.batch = broadcast(call, a.batch, b.batch);
  return {a.with({b.rows, b.columns})};
}
Specs lu_solve(const ops::linalg_lu_solve_default<Call>& call) {
  return solution(call, call.LU().spec(), call.B().spec());
}
Specs ldl_solve(const ops::linalg_ldl_solve_default<Call>& call) {
  return solution(call, call.LD().spec(), call.B().spec());
}
Specs solve_triangular(const ops::linalg_solve_triangular_default<Call>& call) {
  return solution(call, call.self().spec(), call.B().spec());
}

Specs eigh(const ops::_linalg_eigh_default<Call>& call) {
  const Matrices a(call, call.A().spec());
  return {a.with({a.columns}), call.compute_v() ? call.A().spec() : absent()};
}
Specs eig(const ops::linalg_eig_default<Call>& call) {
  const Matrices a(call, call.self().spec());
  return {a.with({a.columns}), call.self().spec()};
}
Specs eigvals(const ops::linalg_eigvals_default<Call>& call) {
  const Matrices a(call, call.self().spec());
  return {a.with({a.columns})};
}
Specs svd(const ops::_linalg_svd_default<Call>& call) {
  const Matrices a(call, call.A().spec());
  const bool is_full = call.full_matrices(), has_vectors = call.compute_uv();
  return {has_vectors ? a.with({a.rows, is_full ? a.rows : a.smaller}) : absent(), a.with({a.smaller}),
          has_vectors ? a.with({is_full ? a.columns : a.smaller, a.columns}) : absent()};
}

constexpr ResultLayout kDense = ResultLayout::kContiguous;

constexpr Rule kRows[] = {
    row<ops::_linalg_eigh_default, eigh>(kDense),
    row<ops::_linalg_svd_default, svd>(kDense),
    row<ops::geqrf_default, geqrf>(kDense),
    row<ops::linalg_cholesky_ex_default, factor_and_info>(kDense),
    row<ops::linalg_eig_default, eig>(kDense),
    row<ops::linalg_eigvals_default, eigvals>(kDense),
    row<ops::linalg_householder_product_default, householder_product>(kDense),
    row<ops::linalg_ldl_factor_ex_default, ldl_factor>(kDense),
    row<ops::linalg_ldl_solve_default, ldl_solve>(kDense),
    row<ops::linalg_lu_factor_ex_default, lu_factor>(kDense),
    row<ops::linalg_lu_solve_default, lu_solve>(kDense),
    row<ops::linalg_matrix_exp_default, matrix_exp>(kDense),
    row<ops::linalg_solve_triangular_default, solve_triangular>(kDense),
    row<ops::lu_unpack_default, lu_unpack>(kDense),
    row<ops::ormqr_default, ormqr>(kDense),
};

}  // namespace

std::span<const Rule> linear_algebra_rules() { return kRows; }

}  // namespace etb::infer
