// SPDX-License-Identifier: Apache-2.0
// Steps before the QR algorithm for eigenvalues: a square matrix is balanced, then made zero below its first subdiagonal.
#pragma once

#include "host/kernels/linalg_reflections.hpp"

namespace etb::host {

// Rows and columns [first, last] of a balanced matrix are those that are not triangular yet.
struct Balance {
  int64_t first = 0, last = -1;
  // For each row: the row it was exchanged with, outside of [first, last], and the factor of its column.
  int64_t* exchanged = nullptr;
  double* factors = nullptr;

  etb_status allocate(KernelContext& context, int64_t size) {
    ETB_CHECK(allocate_vector(context, size, &exchanged));
    return allocate_vector(context, size, &factors);
  }
};

// Exchanges rows and columns so that eigenvalues which zeros isolate come first and last, and multiplies them by powers of two so that
// rows and columns have norms of one size.
template <class T>
etb_status balance(KernelContext& context, const Matrix<T>& a, Balance* out) noexcept;

// Turns eigenvectors of the balanced matrix, which are rows, into those of the matrix before.
template <class T>
etb_status undo_balance(KernelContext& context, const Balance& balance, const Matrix<T>& vectors) noexcept;

// Scratch of the reduction.
template <class T>
struct HessenbergWork {
  Matrix<T> vectors;  // a row for each reflection; without Q all rows are the same
  T *taus, *products, *conjugates;

  etb_status allocate(KernelContext& context, int64_t size, bool has_q);
};

// A = Q H Q^H. The rows of `q`, if it has any, become the columns of Q.
template <class T>
etb_status make_hessenberg(KernelContext& context, const Matrix<T>& a, const Balance& balance,
                           const HessenbergWork<T>& work, const Matrix<T>& q) noexcept;

}  // namespace etb::host
