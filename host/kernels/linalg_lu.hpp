// SPDX-License-Identifier: Apache-2.0
// LU factorisation of one matrix.
#pragma once

#include "host/kernels/linalg.hpp"

namespace etb::host {

// Factors a matrix of dense rows in place: P A = L U with ones on L's diagonal. pivots[i] is the row, from 0, that was exchanged with
// row i. `out_info` is 0, or the number from 1 of the first zero on U's diagonal.
template <class T>
etb_status factor_lu(KernelContext& context, const Matrix<T>& a, bool has_pivots, int32_t* pivots,
                     int32_t* out_info) noexcept;

// Exchanges the rows of x in the order of the factorisation, or in the opposite one.
template <class T>
etb_status exchange_rows(KernelContext& context, const int32_t* pivots, int64_t count, bool is_backward,
                         const Matrix<T>& x) noexcept;

// Solves A X = B (or with A transposed, not conjugated) for square factors; `x` holds B and becomes X.
template <class T>
etb_status solve_lu(KernelContext& context, const Matrix<T>& lu, const int32_t* pivots, bool is_transposed,
                    const Matrix<T>& x) noexcept;

}  // namespace etb::host
