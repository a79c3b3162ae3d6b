// SPDX-License-Identifier: Apache-2.0
// Householder reflections H = I - tau v v^H, in LAPACK's convention: v begins with a one that is not stored, and H^H x becomes
// (beta, 0, 0, ...) with a real beta of the sign opposite to x's first element. tau is real for real x.
//
// Matrices that reflections change are kept transposed: a row is a column.
#pragma once

#include "host/kernels/linalg.hpp"

namespace etb::host {

// Reflections of which one starts a column later than the one before: row k of `rows` has v's elements after its one, which is at
// column k + shift. Other elements of `rows` are something else.
template <class T>
struct Reflections {
  Matrix<T> rows;
  int64_t shift = 0;
  const T* taus = nullptr;
};

// Conjugates the elements of a matrix, or one dense vector of them. Real ones stay as they are.
template <class T>
etb_status conjugate_elements(KernelContext& context, const Matrix<T>& a) {
  if constexpr (!kIsComplex<T>) return ETB_OK;
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a.at(i, j) = conjugate(a.at(i, j));
  });
}

// Makes the reflection for x, and returns tau. Afterwards x is beta and v's elements.
template <class T>
T make_reflection(const LinearLoops<T>& loops, T* x, int64_t count) noexcept;

// Turns the columns of A, which are the rows of `columns`, into R, beside the reflections whose product is Q: A = H1 H2 ... R.
template <class T>
etb_status factor_qr(KernelContext& context, const Matrix<T>& columns, T* taus) noexcept;

// Multiplies the columns of R', which are the rows of R, by Hk^H ... H1^H, or by H1 ... Hk when backward. `is_identity`: R is the
// identity before, and the order is backward; then rows that stay the same are left out.
template <class T>
etb_status apply_reflections(KernelContext& context, const Reflections<T>& h, bool is_backward,
                             bool is_identity, const Matrix<T>& r) noexcept;

}  // namespace etb::host
