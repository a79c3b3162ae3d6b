// SPDX-License-Identifier: Apache-2.0
// The QR algorithm for eigenvalues of any square matrix, and eigenvectors of the triangular matrix that it ends with.
#pragma once

#include <limits>

#include "host/kernels/linalg_hessenberg.hpp"

namespace etb::host {

// A Hessenberg matrix that becomes upper triangular; a real one keeps blocks of two rows on the diagonal for conjugate eigenvalues,
// with equal diagonal elements. Without `q` only eigenvalues are wanted, and the rest of `h` is unspecified afterwards.
template <class T>
struct SchurTask {
  Matrix<T> h, q;  // A = Q H Q^H; the columns of Q are the rows of `q`
  int64_t first, last;
  ComplexNumber<RealOf<T>>* values;

  bool has_vectors() const { return q.data != nullptr; }
};

template <class T>
etb_status make_triangular(KernelContext& context, const SchurTask<T>& task) noexcept;

// Writes an eigenvector of the triangular matrix to each row of x. For a conjugate pair of a real matrix, two rows are the real and
// the imaginary part of the first one.
template <class T>
etb_status find_triangular_vectors(KernelContext& context, const SchurTask<T>& task,
                                   const Matrix<T>& x) noexcept;

inline etb_status fail_qr_steps(KernelContext& context) {
  return context.fail(ETB_INVALID_ARGUMENT,
                      "the eigenvalues do not converge: the matrix is ill-conditioned or has too many equal "
                      "eigenvalues");
}

// Element (i, i - 1) counts as zero beside its neighbours, by the test of Ahues and Tisseur.
template <class T>
bool is_negligible_below(const Matrix<T>& h, int64_t i, int64_t first, int64_t last) {
  using Real = RealOf<T>;
  constexpr double kEpsilon = std::numeric_limits<Real>::epsilon();
  constexpr double kSmallest = static_cast<double>(std::numeric_limits<Real>::min()) / kEpsilon;
  const auto size = [](T x) { return static_cast<double>(sum_of_magnitudes(x)); };
  const double below = size(h.at(i, i - 1));
  if (below <= kSmallest * static_cast<double>(h.rows)) return true;
  double beside = size(h.at(i - 1, i - 1)) + size(h.at(i, i));
  if (beside == 0 && i - 2 >= first) beside += size(h.at(i - 1, i - 2));
  if (beside == 0 && i + 1 <= last) beside += size(h.at(i + 1, i));
  if (below > kEpsilon * beside) return false;
  const double above = size(h.at(i - 1, i)), own = size(h.at(i, i)),
               gap = size(h.at(i - 1, i - 1) - h.at(i, i));
  const double total = std::max(own, gap) + std::max(below, above);
  return std::min(below, above) * (std::max(below, above) / total) <=
         std::max(kSmallest, kEpsilon * (std::min(own, gap) * (std::max(own, gap) / total)));
}

// Returns the first row of the block that ends with row `end`, and clears the negligible element before it.
template <class T>
int64_t split_block(const SchurTask<T>& task, int64_t end) {
  int64_t begin = end;
  while (begin > task.first && !is_negligible_below(task.h, begin, task.first, task.last)) --begin;
  if (begin > task.first) task.h.at(begin, begin - 1) = RealOf<T>(0);
  return begin;
}

// Steps that one eigenvalue may need, of which some use a shift that breaks cycles.
constexpr int64_t kStepsOfMatrix = 30, kStepsToUnusualShift = 10;

}  // namespace etb::host
