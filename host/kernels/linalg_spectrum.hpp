// SPDX-License-Identifier: Apache-2.0
// Plane rotations of rows, ranges of numbers and order, for eigenvalues of symmetric matrices and singular values.
#pragma once

#include <cmath>
#include <limits>

#include "host/kernels/linalg_reflections.hpp"

namespace etb::host {

// Checks that values have the dtype of the matrices' parts.
inline etb_status expect_part_dtype(KernelContext& context, const Tensor& matrices, const Tensor& values) {
  const Dtype expected = ops::real_part(matrices.dtype());
  if (values.dtype() == expected) return ETB_OK;
  return context.fail(ETB_INVALID_TYPE, "values of %s, expected %s for a matrix of %s",
                      to_text(values.dtype()), to_text(expected), to_text(matrices.dtype()));
}

// The length of (x, y). std::hypot is slow, and only needed where squares leave the range of double.
inline double length_of(double x, double y) noexcept {
  const double squares = x * x + y * y;
  return squares > 1e-280 && squares < 1e280 ? std::sqrt(squares) : std::hypot(x, y);
}

// The rotation that turns (f, g) into (r, 0); r has the sign of f.
struct Rotation {
  double cosine, sine, r;
};
inline Rotation make_rotation(double f, double g) noexcept {
  if (g == 0) return {1, 0, f};
  const double r = std::copysign(length_of(f, g), f);
  return {f / r, g / r, r};
}

// Rotates rows i and j of vectors that are kept as rows; there may be none.
template <class T>
bool rotate_rows(KernelContext& context, const Matrix<T>& vectors, int64_t i, int64_t j,
                 const Rotation& rotation) {
  if (vectors.data == nullptr) return !context.should_stop(4);
  using Real = RealOf<T>;
  vector_table(context).linear<T>().rotate(vectors.row(i), vectors.row(j), static_cast<Real>(rotation.cosine),
                                           static_cast<Real>(rotation.sine), vectors.columns);
  return !context.should_stop(1 + vectors.columns);
}

// A dense matrix as one of its real and imaginary parts, side by side.
template <class T>
Matrix<RealOf<T>> as_parts(const Matrix<T>& a) {
  constexpr int64_t kParts = kIsComplex<T> ? 2 : 1;
  return {reinterpret_cast<RealOf<T>*>(a.data), a.rows, kParts * a.columns, kParts * a.row_stride, 1};
}

// Divides a real matrix by a power of two where squares of its elements could leave the range of T. `out_scale` is that power, NaN for a
// matrix with elements that are not finite.
template <class T>
etb_status scale_to_range(KernelContext& context, const Matrix<T>& a, double* out_scale) {
  T largest = 0;
  bool is_finite = true;
  ETB_CHECK(for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < a.columns; ++j) {
        const T size = std::abs(a.at(i, j));
        is_finite &= size <= std::numeric_limits<T>::max();
        largest = std::max(largest, size);
      }
  }));
  *out_scale = is_finite ? 1 : std::numeric_limits<double>::quiet_NaN();
  constexpr int kQuarter = std::numeric_limits<T>::max_exponent / 4;
  if (!is_finite || largest == T(0) || std::abs(std::ilogb(largest)) < kQuarter) return ETB_OK;
  const int exponent = std::ilogb(largest);
  *out_scale = std::ldexp(1.0, exponent);
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < a.columns; ++j) a.at(i, j) = std::ldexp(a.at(i, j), -exponent);
  });
}

// Sorts values, and with each the rows of two sets of vectors, of which each may be absent.
template <class T, class Before>
etb_status sort_with_rows(KernelContext& context, double* values, int64_t count, const Matrix<T>& first,
                          const Matrix<T>& second, Before before) {
  for (int64_t i = 0; i < count; ++i) {
    if (context.should_stop(1 + count - i + first.columns + second.columns)) return context.stopped();
    const int64_t best = std::min_element(values + i, values + count, before) - values;
    if (best == i) continue;
    std::swap(values[i], values[best]);
    for (const Matrix<T>* vectors : {&first, &second})
      if (vectors->data != nullptr)
        std::swap_ranges(vectors->row(i), vectors->row(i) + vectors->columns, vectors->row(best));
  }
  return ETB_OK;
}

}  // namespace etb::host
