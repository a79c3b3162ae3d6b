// SPDX-License-Identifier: Apache-2.0
// Householder reflections H = I - tau v v', in LAPACK's convention: v begins with a one that is not stored, and what it reflects
// becomes beta with the sign opposite to its first element.
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

// Makes the reflection that turns x into (beta, 0, 0, ...). Afterwards x is beta and v's elements.
template <class T>
T make_reflection(const LinearLoops<T>& loops, T* x, int64_t count) noexcept;

// Turns the columns of A, which are the rows of `columns`, into R, beside the reflections whose product is Q.
template <class T>
etb_status factor_qr(KernelContext& context, const Matrix<T>& columns, T* taus) noexcept;

// R = R H1 H2 ... Hk, or R Hk ... H1 when backward. `is_identity`: R is the identity before, and the order is backward; then rows that
// stay the same are left out.
template <class T>
etb_status apply_reflections(KernelContext& context, const Reflections<T>& h, bool is_backward,
                             bool is_identity, const Matrix<T>& r) noexcept;

}  // namespace etb::host
