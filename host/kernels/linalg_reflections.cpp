// SPDX-License-Identifier: Apache-2.0
// Householder reflections, several at a time: H1 ... Hk = I - V T V^H with the vectors as columns of V and a triangular T.
#include "host/kernels/linalg_reflections.hpp"

#include <cmath>
#include <limits>

namespace etb::host {
namespace {

// Reflections that are applied together.
constexpr int64_t kBlock = 32;

// The length of a vector, also where squares leave the range of T.
template <class T>
RealOf<T> norm(const LinearLoops<T>& loops, const T* x, int64_t count) {
  using Real = RealOf<T>;
  const Real squares = real_part(loops.dot(x, x, count));
  constexpr Real kSmall = std::numeric_limits<Real>::min() / std::numeric_limits<Real>::epsilon();
  if (squares > kSmall && squares <= std::numeric_limits<Real>::max()) return std::sqrt(squares);
  Real largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, magnitude(x[i]));
  if (!(largest > Real(0)) || largest > std::numeric_limits<Real>::max()) return largest + squares;
  Real total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Real part = magnitude(x[i]) / largest;
    total += part * part;
  }
  return largest * std::sqrt(total);
}

// The vectors [begin, end) with their ones and zeros, from the column of the first one on.
template <class T>
void unpack_vectors(const Reflections<T>& h, int64_t begin, int64_t end, const Matrix<T>& v) {
  const int64_t first = begin + h.shift;
  for (int64_t k = begin; k < end; ++k) {
    T* row = v.row(k - begin);
    std::fill_n(row, k - begin, T(0));
    row[k - begin] = 1;
    std::copy_n(h.rows.row(k) + first + k - begin + 1, v.columns - (k - begin) - 1, row + k - begin + 1);
  }
}

// Column j of T: minus tau times T times the inner products of the vectors before v_j with it.
template <class T>
void make_triangle(const LinearLoops<T>& loops, const Matrix<T>& v, const T* taus, const Matrix<T>& t) {
  T products[kBlock];
  for (int64_t j = 0; j < v.rows; ++j) {
    loops.dot_rows(products, v.data + j, v.row_stride, j, v.columns - j, v.row(j) + j);
    for (int64_t i = 0; i < v.rows; ++i) {
      T sum = 0;
      for (int64_t l = i; l < j; ++l) sum += t.at(i, l) * products[l];
      t.at(i, j) = i < j ? -taus[j] * sum : i == j ? taus[j] : T(0);
    }
  }
}

}  // namespace

template <class T>
T make_reflection(const LinearLoops<T>& loops, T* x, int64_t count) noexcept {
  using Real = RealOf<T>;
  const Real rest = count > 1 ? norm(loops, x + 1, count - 1) : Real(0);
  const T alpha = x[0];
  if (rest == Real(0) && imaginary_part(alpha) == Real(0)) return T(0);
  const Real beta = -std::copysign(std::hypot(magnitude(alpha), rest), real_part(alpha));
  loops.divide(x + 1, alpha - T(beta), count - 1);
  x[0] = T(beta);
  return (T(beta) - alpha) / beta;
}

template <class T>
etb_status apply_reflections(KernelContext& context, const Reflections<T>& h, bool is_backward,
                             bool is_identity, const Matrix<T>& r) noexcept {
  const KernelContext::Mark mark(context);
  const int64_t count = h.rows.rows;
  if (count == 0 || r.rows == 0) return ETB_OK;
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  Matrix<T> vectors, t, products, scaled;
  ETB_CHECK(allocate_matrix(context, std::min(kBlock, count), r.columns, &vectors));
  ETB_CHECK(allocate_matrix(context, kBlock, kBlock, &t));
  ETB_CHECK(allocate_matrix(context, r.rows, kBlock, &products));
  ETB_CHECK(allocate_matrix(context, r.rows, kBlock, &scaled));
  const int64_t block_count = (count + kBlock - 1) / kBlock;
  for (int64_t block = 0; block < block_count; ++block) {
    const int64_t begin = (is_backward ? block_count - 1 - block : block) * kBlock;
    const int64_t end = std::min(begin + kBlock, count), width = end - begin, first = begin + h.shift;
    const int64_t skipped = is_identity ? std::min(first, r.rows) : 0, columns = r.columns - first;
    if (context.should_stop(1 + width * columns)) return context.stopped();
    const Matrix<T> v = {vectors.data, width, columns, columns, 1};
    unpack_vectors(h, begin, end, v);
    const Matrix<T> triangle = t.block(0, 0, width, width);
    make_triangle(loops, v, h.taus + begin, triangle);
    const Matrix<T> part = r.block(skipped, first, r.rows - skipped, columns);
    const Matrix<T> w = products.block(0, 0, part.rows, width), u = scaled.block(0, 0, part.rows, width);
    ETB_CHECK(conjugate_elements(context, v));
    ETB_CHECK(multiply(context, w, part, v.transposed()));
    ETB_CHECK(conjugate_elements(context, v));
    if (!is_backward) ETB_CHECK(conjugate_elements(context, triangle));
    ETB_CHECK(multiply(context, u, w, is_backward ? triangle.transposed() : triangle));
    ETB_CHECK(multiply_add(context, part, u, v, -1));
  }
  return ETB_OK;
}

template <class T>
etb_status factor_qr(KernelContext& context, const Matrix<T>& columns, T* taus) noexcept {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t length = columns.columns, count = std::min(columns.rows, length);
  T products[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    for (int64_t j = begin; j < end; ++j) {
      const int64_t others = end - j - 1, left = length - j;
      if (context.should_stop(1 + others * left)) return context.stopped();
      T* x = columns.row(j) + j;
      taus[j] = make_reflection(loops, x, left);
      if (others == 0) continue;
      const T beta = std::exchange(x[0], T(1));
      T* rest = columns.row(j + 1) + j;
      loops.dot_rows(products, rest, columns.row_stride, others, left, x);
      for (int64_t i = 0; i < others; ++i) products[i] = conjugate(products[i] * taus[j]);
      loops.subtract_outer(rest, columns.row_stride, others, left, products, 1, x);
      x[0] = beta;
    }
    const Reflections<T> block = {columns.block(begin, begin, end - begin, length - begin), 0, taus + begin};
    ETB_CHECK(apply_reflections(context, block, false, false,
                                columns.block(end, begin, columns.rows - end, length - begin)));
  }
  return ETB_OK;
}

#define ETB_INSTANTIATE(T)                                                                 \
  template T make_reflection(const LinearLoops<T>&, T*, int64_t) noexcept;                 \
  template etb_status factor_qr(KernelContext&, const Matrix<T>&, T*) noexcept;            \
  template etb_status apply_reflections(KernelContext&, const Reflections<T>&, bool, bool, \
                                        const Matrix<T>&) noexcept;
ETB_INSTANTIATE(float)
ETB_INSTANTIATE(double)
ETB_INSTANTIATE(ComplexNumber<float>)
ETB_INSTANTIATE(ComplexNumber<double>)
#undef ETB_INSTANTIATE

}  // namespace etb::host
