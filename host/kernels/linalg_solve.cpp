// SPDX-License-Identifier: Apache-2.0
// Triangular systems for the kernels of linear algebra.
#include "host/kernels/linalg.hpp"

namespace etb::host {
namespace {

// Rows that are solved by themselves, before a product subtracts them from the rest.
constexpr int64_t kBlock = 32;
// Up to so many columns are solved as vectors: a product would copy the triangle for little work on it. Four products of real parts
// copy it as often.
template <class T>
constexpr int64_t kMaxVectors = kIsComplex<T> ? 12 : 4;
constexpr int64_t kRowsAtOnce = 8;
// Elements of a vector that stay in the cache while columns are subtracted from them.
constexpr int64_t kChunk = 2048;

template <class T>
etb_status solve_block(KernelContext& context, const Matrix<T>& t, bool is_unit, const Matrix<T>& x) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  for (int64_t i = 0; i < t.rows; ++i) {
    ETB_CHECK(for_each_piece(context, x.columns, [&](int64_t column, int64_t length) {
      loops.add_rows(x.row(i) + column, x.row(0) + column, x.row_stride, i, length, &t.at(i, 0),
                     t.column_stride, T(-1));
      if (!is_unit) loops.divide(x.row(i) + column, t.at(i, i), length);
    }));
    if (context.should_stop(1 + i * x.columns / 4)) return context.stopped();
  }
  return ETB_OK;
}

// Halves the triangle, so that most of the work is in products of large matrices.
template <class T>
etb_status solve_lower(KernelContext& context, const Matrix<T>& t, bool is_unit, const Matrix<T>& x) {
  if (t.rows <= kBlock) return solve_block(context, t, is_unit, x);
  const int64_t half = (t.rows / 2 + kBlock - 1) / kBlock * kBlock, left = t.rows - half;
  const Matrix<T> upper_x = x.block(0, 0, half, x.columns), lower_x = x.block(half, 0, left, x.columns);
  ETB_CHECK(solve_lower(context, t.block(0, 0, half, half), is_unit, upper_x));
  ETB_CHECK(multiply_add(context, lower_x, t.block(half, 0, left, half), upper_x, -1));
  return solve_lower(context, t.block(half, half, left, left), is_unit, lower_x);
}

// Reads the rows of T once, along memory, a few at a time: an element of a vector is what its row leaves after the elements that are
// known. The rows of `vectors` are the columns of X; conjugated, because an inner product conjugates the rows of T.
template <class T>
etb_status solve_by_rows(KernelContext& context, const Matrix<T>& t, bool is_upper, bool is_unit,
                         const Matrix<T>& vectors) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  T sums[kRowsAtOnce];
  for (int64_t solved = 0; solved < t.rows; solved += kRowsAtOnce) {
    const int64_t height = std::min(kRowsAtOnce, t.rows - solved), left = t.rows - solved - height;
    const int64_t first = is_upper ? left : solved, known = is_upper ? left + height : 0;
    if (context.should_stop(1 + height * (solved + height) * vectors.rows / 4)) return context.stopped();
    for (int64_t v = 0; v < vectors.rows; ++v) {
      T* x = vectors.row(v);
      loops.dot_rows(sums, t.row(first) + known, t.row_stride, height, solved, x + known);
      for (int64_t step = 0; step < height; ++step) {
        const int64_t i = is_upper ? first + height - 1 - step : first + step;
        T rest = x[i] - sums[i - first];
        for (int64_t j = is_upper ? i + 1 : first; j < (is_upper ? first + height : i); ++j)
          rest -= conjugate(t.at(i, j)) * x[j];
        x[i] = is_unit ? rest : rest / conjugate(t.at(i, i));
      }
    }
  }
  return ETB_OK;
}

// Reads the columns of T once, along memory: as soon as elements of a vector are known, their columns are subtracted from the rest.
template <class T>
etb_status solve_by_columns(KernelContext& context, const Matrix<T>& t, bool is_upper, bool is_unit,
                            const Matrix<T>& vectors) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t n = t.rows;
  for (int64_t solved = 0; solved < n; solved += kBlock) {
    const int64_t height = std::min(kBlock, n - solved), left = n - solved - height;
    const int64_t first = is_upper ? left : solved, rest = is_upper ? 0 : solved + height;
    const Matrix<T> columns = t.transposed();  // has dense rows
    for (int64_t v = 0; v < vectors.rows; ++v) {
      T* x = vectors.row(v);
      for (int64_t step = 0; step < height; ++step) {
        const int64_t j = is_upper ? first + height - 1 - step : first + step;
        const int64_t begin = is_upper ? first : j + 1;
        if (!is_unit) x[j] = x[j] / t.at(j, j);
        loops.add_rows(x + begin, columns.row(j) + begin, columns.row_stride, 1, height - 1 - step, x + j, 1,
                       T(-1));
      }
      for (int64_t begin = 0; begin < left; begin += kChunk) {
        const int64_t length = std::min(kChunk, left - begin);
        if (context.should_stop(1 + height * length / 4)) return context.stopped();
        loops.add_rows(x + rest + begin, columns.row(first) + rest + begin, columns.row_stride, height,
                       length, x + first, 1, T(-1));
      }
    }
  }
  return ETB_OK;
}

template <class T>
etb_status solve_vectors(KernelContext& context, const Matrix<T>& t, bool is_upper, bool is_unit,
                         const Matrix<T>& x) {
  const KernelContext::Mark mark(context);
  const bool has_dense_rows = t.column_stride == 1;
  Matrix<T> vectors;
  ETB_CHECK(allocate_matrix(context, x.columns, x.rows, &vectors));
  ETB_CHECK(copy_matrix(context, x.transposed(), vectors));
  if (has_dense_rows) {
    ETB_CHECK(conjugate_matrix(context, vectors));
    ETB_CHECK(solve_by_rows(context, t, is_upper, is_unit, vectors));
    ETB_CHECK(conjugate_matrix(context, vectors));
  } else {
    ETB_CHECK(solve_by_columns(context, t, is_upper, is_unit, vectors));
  }
  return copy_matrix(context, vectors.transposed(), x);
}

}  // namespace

template <class T>
etb_status solve_triangular(KernelContext& context, const Matrix<T>& triangle, bool is_upper, bool is_unit,
                            const Matrix<T>& x) noexcept {
  if (x.columns == 0) return ETB_OK;
  const bool has_dense_side = triangle.column_stride == 1 || triangle.row_stride == 1;
  if (x.columns <= kMaxVectors<T> && triangle.rows > kBlock && has_dense_side)
    return solve_vectors(context, triangle, is_upper, is_unit, x);
  // From the last row on, an upper triangle is a lower one.
  return is_upper ? solve_lower(context, triangle.reversed(), is_unit, x.with_rows_reversed())
                  : solve_lower(context, triangle, is_unit, x);
}

#define ETB_INSTANTIATE(T)                                                           \
  template etb_status solve_triangular(KernelContext&, const Matrix<T>&, bool, bool, \
                                       const Matrix<T>&) noexcept;
ETB_INSTANTIATE(float)
ETB_INSTANTIATE(double)
ETB_INSTANTIATE(ComplexNumber<float>)
ETB_INSTANTIATE(ComplexNumber<double>)
#undef ETB_INSTANTIATE

}  // namespace etb::host
