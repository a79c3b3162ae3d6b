// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/linalg_hessenberg.hpp"

#include <cmath>
#include <limits>

namespace etb::host {
namespace {

template <class T>
void exchange(const Matrix<T>& a, int64_t i, int64_t j) {
  if (i == j) return;
  std::swap_ranges(a.row(i), a.row(i) + a.columns, a.row(j));
  for (int64_t k = 0; k < a.rows; ++k) std::swap(a.at(k, i), a.at(k, j));
}

// True if row i has zeros in columns [first, last] beside the diagonal.
template <class T>
bool is_isolated(const Matrix<T>& a, int64_t i, int64_t first, int64_t last) {
  for (int64_t j = first; j <= last; ++j)
    if (j != i && !(a.at(i, j) == T(0))) return false;
  return true;
}

// Moves isolated rows behind the others, or, of the transposed matrix, before them.
template <class T>
etb_status isolate(KernelContext& context, const Matrix<T>& a, bool is_by_rows, Balance* out) {
  const Matrix<T> shown = is_by_rows ? a : a.transposed();
  for (int64_t tried = 0; tried <= out->last - out->first;) {
    const int64_t i = is_by_rows ? out->last - tried : out->first + tried;
    if (context.should_stop(1 + out->last - out->first)) return context.stopped();
    ++tried;
    if (!is_isolated(shown, i, out->first, out->last)) continue;
    const int64_t end = is_by_rows ? out->last-- : out->first++;
    out->exchanged[end] = i;
    if (context.should_stop(2 * a.rows)) return context.stopped();
    exchange(a, i, end);
    tried = 0;
  }
  return ETB_OK;
}

template <class T>
double norm_of(const T* data, int64_t stride, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double re = real_part(data[i * stride]), im = imaginary_part(data[i * stride]);
    squares += re * re + im * im;
  }
  return std::sqrt(squares);
}

// The power of two by which column and row norms become most alike; 1 where that gains little.
template <class T>
double factor_for(double column, double row) {
  constexpr int kLargest = std::numeric_limits<RealOf<T>>::max_exponent / 4;
  if (column == 0 || row == 0) return 1;
  const int exponent = std::clamp((std::ilogb(row) - std::ilogb(column)) / 2, -kLargest, kLargest);
  const double factor = std::ldexp(1.0, exponent);
  return column * factor + row / factor < 0.95 * (column + row) ? factor : 1;
}

// Multiplies column i by the factor, and divides row i by it.
template <class T>
void scale(const Matrix<T>& a, int64_t i, double factor) {
  const auto by = static_cast<RealOf<T>>(factor);
  for (int64_t j = 0; j < a.columns; ++j) a.at(i, j) = a.at(i, j) / by;
  for (int64_t j = 0; j < a.rows; ++j) a.at(j, i) = a.at(j, i) * by;
}

template <class T>
etb_status scale_rows_and_columns(KernelContext& context, const Matrix<T>& a, const Balance& balance) {
  constexpr double kLargest = static_cast<double>(std::numeric_limits<RealOf<T>>::max()) / 4;
  const int64_t first = balance.first, count = balance.last - first + 1;
  constexpr int kSweeps = 64;  // each lowers the norm by a part of twenty at least
  bool is_changed = true;
  for (int sweep = 0; sweep < kSweeps && std::exchange(is_changed, false); ++sweep)
    for (int64_t i = first; i < first + count; ++i) {
      if (context.should_stop(1 + 2 * count)) return context.stopped();
      const double column = norm_of(&a.at(first, i), a.row_stride, count);
      const double row = norm_of(&a.at(i, first), a.column_stride, count);
      const double factor = factor_for<T>(column, row), all = balance.factors[i] * factor;
      if (factor == 1 || all > kLargest || 1 / all > kLargest) continue;
      balance.factors[i] = all;
      scale(a, i, factor);
      is_changed = true;
    }
  return ETB_OK;
}

}  // namespace

template <class T>
etb_status balance(KernelContext& context, const Matrix<T>& a, Balance* out) noexcept {
  out->first = 0;
  out->last = a.rows - 1;
  std::fill_n(out->factors, a.rows, 1.0);
  ETB_CHECK(isolate(context, a, true, out));
  ETB_CHECK(isolate(context, a, false, out));
  return scale_rows_and_columns(context, a, *out);
}

template <class T>
etb_status undo_balance(KernelContext& context, const Balance& balance, const Matrix<T>& vectors) noexcept {
  return for_each_rows(context, vectors.rows, vectors.columns, [&](int64_t begin, int64_t length) {
    for (int64_t k = begin; k < begin + length; ++k) {
      T* x = vectors.row(k);
      for (int64_t i = balance.first; i <= balance.last; ++i)
        x[i] = x[i] * static_cast<RealOf<T>>(balance.factors[i]);
      for (int64_t i = balance.first - 1; i >= 0; --i) std::swap(x[i], x[balance.exchanged[i]]);
      for (int64_t i = balance.last + 1; i < vectors.columns; ++i) std::swap(x[i], x[balance.exchanged[i]]);
    }
  });
}

template <class T>
etb_status HessenbergWork<T>::allocate(KernelContext& context, int64_t size, bool has_q) {
  ETB_CHECK(allocate_matrix(context, has_q ? size : 1, size, &vectors));
  if (!has_q) vectors.row_stride = 0;
  for (T** vector : {&taus, &products, &conjugates}) ETB_CHECK(allocate_vector(context, size, vector));
  return ETB_OK;
}

// Applies reflection k, whose vector is v: rows from k + 1 to the last one, then columns.
template <class T>
static etb_status reflect_both_sides(KernelContext& context, const Matrix<T>& a, int64_t k, int64_t last,
                                     const HessenbergWork<T>& work, const T* v) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t count = last - k, width = a.columns - k - 1;
  const T tau = work.taus[k];
  T *rest = a.row(k + 1) + k + 1, *products = work.products, *conjugates = work.conjugates;
  for (int64_t i = 0; i < count; ++i) conjugates[i] = conjugate(v[i]);
  std::fill_n(products, width, T(0));
  ETB_CHECK(for_each_rows(context, count, width, [&](int64_t begin, int64_t length) {
    loops.add_rows(products, rest + begin * a.row_stride, a.row_stride, length, width, conjugates + begin, 1,
                   conjugate(tau));
  }));
  ETB_CHECK(for_each_rows(context, count, width, [&](int64_t begin, int64_t length) {
    loops.subtract_outer(rest + begin * a.row_stride, a.row_stride, length, width, v + begin, 1, products);
  }));
  return for_each_rows(context, last + 1, 2 * count, [&](int64_t begin, int64_t length) {
    T* part = a.row(begin) + k + 1;
    loops.dot_rows(products, part, a.row_stride, length, count, conjugates);
    for (int64_t i = 0; i < length; ++i) products[i] = tau * conjugate(products[i]);
    loops.subtract_outer(part, a.row_stride, length, count, products, 1, conjugates);
  });
}

template <class T>
etb_status make_hessenberg(KernelContext& context, const Matrix<T>& a, const Balance& balance,
                           const HessenbergWork<T>& work, const Matrix<T>& q) noexcept {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t first = balance.first, last = balance.last;
  for (int64_t k = first; k + 1 < last; ++k) {
    T* v = work.vectors.row(k) + k + 1;
    for (int64_t i = k + 1; i <= last; ++i) v[i - k - 1] = std::exchange(a.at(i, k), T(0));
    work.taus[k] = make_reflection(loops, v, last - k);
    a.at(k + 1, k) = std::exchange(v[0], T(1));
    if (!(work.taus[k] == T(0))) ETB_CHECK(reflect_both_sides(context, a, k, last, work, v));
  }
  if (q.data == nullptr) return ETB_OK;
  ETB_CHECK(set_identity(context, q));
  const int64_t size = last - first + 1;
  if (size < 3) return ETB_OK;
  const Reflections<T> h = {work.vectors.block(first, first, size - 2, size), 1, work.taus + first};
  return apply_reflections(context, h, true, true, q.block(first, first, size, size));
}

#define ETB_INSTANTIATE(T)                                                                     \
  template etb_status balance(KernelContext&, const Matrix<T>&, Balance*) noexcept;            \
  template etb_status undo_balance(KernelContext&, const Balance&, const Matrix<T>&) noexcept; \
  template struct HessenbergWork<T>;                                                           \
  template etb_status make_hessenberg(KernelContext&, const Matrix<T>&, const Balance&,        \
                                      const HessenbergWork<T>&, const Matrix<T>&) noexcept;
ETB_INSTANTIATE(float)
ETB_INSTANTIATE(double)
ETB_INSTANTIATE(ComplexNumber<float>)
ETB_INSTANTIATE(ComplexNumber<double>)
#undef ETB_INSTANTIATE

}  // namespace etb::host
