// SPDX-License-Identifier: Apache-2.0
// aten::_linalg_svd: singular values and vectors. Reflections from both sides make the matrix bidiagonal; implicit QR steps, with a
// shift or without, make it diagonal.
#include "host/kernels/linalg_spectrum.hpp"
#include "ops/_linalg_svd.hpp"

namespace etb::host {
namespace {

// A real upper bidiagonal matrix: n elements on the diagonal, n - 1 above it. Scalars are double for float, too.
struct Bidiagonal {
  double *diagonal, *above;
};

// A = Q B P^H for a matrix with at least as many rows as columns, which are the rows of `columns`. Row k of `columns` keeps the vector
// of left reflection k, row k of `right` that of right reflection k, which begins at column k + 1.
template <class T>
struct Reduction {
  Matrix<T> columns, right;
  T *left_taus, *right_taus;
  T *products, *conjugates;  // as many as the matrix has rows, and columns
};

// Reflects columns k, k + 1, ... so that column k becomes a multiple of a unit vector.
template <class T>
etb_status reflect_left(KernelContext& context, const Reduction<T>& r, int64_t k, double* out_diagonal) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t others = r.columns.rows - k - 1, left = r.columns.columns - k;
  T* v = r.columns.row(k) + k;
  r.left_taus[k] = make_reflection(loops, v, left);
  *out_diagonal = static_cast<double>(real_part(v[0]));
  if (others == 0) return ETB_OK;
  const T beta = std::exchange(v[0], T(1));
  T* rest = r.columns.row(k + 1) + k;
  ETB_CHECK(for_each_rows(context, others, 2 * left, [&](int64_t begin, int64_t length) {
    T* part = rest + begin * r.columns.row_stride;
    loops.dot_rows(r.products, part, r.columns.row_stride, length, left, v);
    for (int64_t i = 0; i < length; ++i) r.products[i] = conjugate(r.products[i] * r.left_taus[k]);
    loops.subtract_outer(part, r.columns.row_stride, length, left, r.products, 1, v);
  }));
  v[0] = beta;
  return ETB_OK;
}

// Reflects the rows below k, so that of row k only the element beside the diagonal remains.
template <class T>
etb_status reflect_right(KernelContext& context, const Reduction<T>& r, int64_t k, double* out_above) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t count = r.columns.rows - k - 1, left = r.columns.columns - k - 1;
  T* v = r.right.row(k) + k + 1;
  for (int64_t j = 0; j < count; ++j) v[j] = conjugate(r.columns.at(k + 1 + j, k));
  r.right_taus[k] = make_reflection(loops, v, count);
  *out_above = static_cast<double>(real_part(v[0]));
  if (r.right_taus[k] == T(0)) return ETB_OK;
  v[0] = 1;
  for (int64_t j = 0; j < count; ++j) r.conjugates[j] = conjugate(v[j]);
  T* rest = r.columns.row(k + 1) + k + 1;
  std::fill_n(r.products, left, T(0));
  ETB_CHECK(for_each_rows(context, count, left, [&](int64_t begin, int64_t length) {
    loops.add_rows(r.products, rest + begin * r.columns.row_stride, r.columns.row_stride, length, left,
                   v + begin, 1, r.right_taus[k]);
  }));
  return for_each_rows(context, count, left, [&](int64_t begin, int64_t length) {
    loops.subtract_outer(rest + begin * r.columns.row_stride, r.columns.row_stride, length, left,
                         r.conjugates + begin, 1, r.products);
  });
}

template <class T>
etb_status make_bidiagonal(KernelContext& context, const Reduction<T>& r, const Bidiagonal& out) {
  for (int64_t k = 0; k < r.columns.rows; ++k) {
    if (context.should_stop(1 + r.columns.columns)) return context.stopped();
    ETB_CHECK(reflect_left(context, r, k, &out.diagonal[k]));
    if (k + 1 < r.columns.rows) ETB_CHECK(reflect_right(context, r, k, &out.above[k]));
  }
  return ETB_OK;
}

// Rows first ... last of the bidiagonal matrix, with the vectors of both sides as rows. Upwards it is the transposed matrix with rows
// and columns reversed, whose sides are exchanged.
template <class T>
struct Block {
  Bidiagonal matrix;
  int64_t first, last;
  bool is_upward;
  Matrix<T> left, right;

  int64_t row(int64_t i) const { return is_upward ? last - i : first + i; }
  double& d(int64_t i) const { return matrix.diagonal[row(i)]; }
  double& e(int64_t i) const { return matrix.above[is_upward ? last - 1 - i : first + i]; }
  bool rotate(KernelContext& context, int64_t i, const Rotation& of_left, const Rotation& of_right) const {
    const bool goes_on = rotate_rows(context, is_upward ? left : right, row(i), row(i + 1), of_right);
    return rotate_rows(context, is_upward ? right : left, row(i), row(i + 1), of_left) && goes_on;
  }
};

// The smaller singular value of ((f, g), (0, h)).
double smaller_value(double f, double g, double h) {
  const double larger =
      (std::hypot(std::abs(f) + std::abs(h), g) + std::hypot(std::abs(f) - std::abs(h), g)) / 2;
  return larger == 0 ? 0 : std::abs(f) / larger * std::abs(h);
}

// A QR step with shift zero, which keeps small values accurate and ends blocks with a zero on the diagonal.
template <class T>
bool run_plain_step(KernelContext& context, const Block<T>& b) {
  const int64_t last = b.last - b.first;
  Rotation left = {1, 0, 0};
  double cosine = 1;
  for (int64_t i = 0; i < last; ++i) {
    const Rotation right = make_rotation(b.d(i) * cosine, b.e(i));
    if (i > 0) b.e(i - 1) = left.sine * right.r;
    left = make_rotation(left.cosine * right.r, b.d(i + 1) * right.sine);
    b.d(i) = left.r;
    cosine = right.cosine;
    if (!b.rotate(context, i, left, right)) return false;
  }
  const double end = b.d(last) * cosine;
  b.e(last - 1) = end * left.sine;
  b.d(last) = end * left.cosine;
  return true;
}

template <class T>
bool run_shifted_step(KernelContext& context, const Block<T>& b, double shift) {
  const int64_t last = b.last - b.first;
  const double start = b.d(0);
  double f = (std::abs(start) - shift) * (std::copysign(1.0, start) + shift / start), g = b.e(0);
  for (int64_t i = 0; i < last; ++i) {
    const Rotation right = make_rotation(f, g);
    if (i > 0) b.e(i - 1) = right.r;
    f = right.cosine * b.d(i) + right.sine * b.e(i);
    b.e(i) = right.cosine * b.e(i) - right.sine * b.d(i);
    g = right.sine * b.d(i + 1);
    b.d(i + 1) *= right.cosine;
    const Rotation left = make_rotation(f, g);
    b.d(i) = left.r;
    f = left.cosine * b.e(i) + left.sine * b.d(i + 1);
    b.d(i + 1) = left.cosine * b.d(i + 1) - left.sine * b.e(i);
    if (i + 1 < last) {
      g = left.sine * b.e(i + 1);
      b.e(i + 1) *= left.cosine;
    }
    if (!b.rotate(context, i, left, right)) return false;
  }
  b.e(last - 1) = f;
  return true;
}

// Chases from the larger to the smaller end. A shift that the first element hides is left out.
template <class T>
bool run_step(KernelContext& context, const Block<T>& b) {
  constexpr double kEpsilon = std::numeric_limits<RealOf<T>>::epsilon() / 2;
  const int64_t last = b.last - b.first;
  const double shift = smaller_value(b.d(last - 1), b.e(last - 1), b.d(last)), start = std::abs(b.d(0));
  const bool is_hidden = start == 0 || (shift / start) * (shift / start) < kEpsilon;
  return is_hidden ? run_plain_step(context, b) : run_shifted_step(context, b, shift);
}

// B = S D R'. The rows of `left` and `right`, if there are any, become singular vectors.
template <class T>
etb_status diagonalise(KernelContext& context, const Bidiagonal& matrix, int64_t size, const Matrix<T>& left,
                       const Matrix<T>& right) {
  constexpr double kEpsilon = std::numeric_limits<RealOf<T>>::epsilon() / 2;
  double largest = 0;
  for (int64_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(matrix.diagonal[i]));
  for (int64_t i = 0; i + 1 < size; ++i) largest = std::max(largest, std::abs(matrix.above[i]));
  const double smallest = largest * kEpsilon / 1024 + std::numeric_limits<double>::min();
  const auto is_negligible = [&](int64_t i) {
    const double beside = std::abs(matrix.diagonal[i]) + std::abs(matrix.diagonal[i + 1]);
    return std::abs(matrix.above[i]) <= std::max(smallest, kEpsilon / 2 * beside);
  };
  int64_t steps_left = 60 * size;
  for (int64_t last = size - 1; last > 0;) {
    int64_t first = last;
    while (first > 0 && !is_negligible(first - 1)) --first;
    if (context.should_stop(1 + last - first)) return context.stopped();
    if (first > 0) matrix.above[first - 1] = 0;
    if (first == last) {
      --last;
      continue;
    }
    if (--steps_left < 0)
      return context.fail(ETB_INVALID_ARGUMENT,
                          "the singular values do not converge: the matrix is ill-conditioned or has too "
                          "many equal singular values");
    const bool is_upward = std::abs(matrix.diagonal[first]) < std::abs(matrix.diagonal[last]);
    if (!run_step<T>(context, {matrix, first, last, is_upward, left, right})) return context.stopped();
  }
  for (int64_t i = 0; i < size; ++i) {
    if (!std::signbit(matrix.diagonal[i])) continue;
    matrix.diagonal[i] = -matrix.diagonal[i];
    for (int64_t j = 0; right.data != nullptr && j < right.columns; ++j) right.at(i, j) = -right.at(i, j);
    if (context.should_stop(1 + right.columns)) return context.stopped();
  }
  return sort_with_rows(context, matrix.diagonal, size, left, right, std::greater<>());
}

// The work on matrices of `rows` x `columns`, at least as many rows as columns. Vectors are rows.
template <class T>
struct Work {
  Reduction<T> reduction;
  Bidiagonal bidiagonal;
  Matrix<T> left, right;

  etb_status allocate(KernelContext& context, int64_t rows, int64_t columns, bool has_vectors, bool is_full) {
    ETB_CHECK(allocate_matrix(context, columns, rows, &reduction.columns));
    ETB_CHECK(allocate_matrix(context, columns, columns, &reduction.right));
    for (T** taus : {&reduction.left_taus, &reduction.right_taus})
      ETB_CHECK(allocate_vector(context, columns, taus));
    ETB_CHECK(allocate_vector(context, rows, &reduction.products));
    ETB_CHECK(allocate_vector(context, columns, &reduction.conjugates));
    for (double** values : {&bidiagonal.diagonal, &bidiagonal.above})
      ETB_CHECK(allocate_vector(context, columns, values));
    if (!has_vectors) return ETB_OK;
    ETB_CHECK(allocate_matrix(context, is_full ? rows : columns, rows, &left));
    return allocate_matrix(context, columns, columns, &right);
  }

  // Decomposes the matrix whose columns are in reduction.columns: its singular vectors become rows.
  etb_status run(KernelContext& context) const {
    const int64_t count = reduction.columns.rows;
    ETB_CHECK(make_bidiagonal(context, reduction, bidiagonal));
    if (left.data != nullptr) {
      ETB_CHECK(set_identity(context, left));
      ETB_CHECK(set_identity(context, right));
      ETB_CHECK(apply_reflections(context, {reduction.columns, 0, reduction.left_taus}, true, true, left));
      const Matrix<T> vectors = reduction.right.block(0, 0, std::max<int64_t>(count - 1, 0), count);
      ETB_CHECK(apply_reflections(context, {vectors, 1, reduction.right_taus}, true, true, right));
    }
    return diagonalise(context, bidiagonal, count, left, right);
  }
};

struct Outputs {
  Tensor &u, &s, &vh;
  bool has_vectors, is_full;
};

// A wide matrix is transposed, and its two sides are exchanged.
template <class T>
etb_status svd(KernelContext& context, const Tensor& a, const Outputs& out) {
  const int64_t rows = a.size(a.rank() - 2), columns = a.size(a.rank() - 1), count = std::min(rows, columns);
  const bool is_wide = rows < columns;
  const int vector_rank = out.has_vectors ? 2 : 1;
  using Real = RealOf<T>;
  const MatrixBatch<T> from(a, 2), u(out.u, vector_rank), vh(out.vh, vector_rank);
  const MatrixBatch<Real> s(out.s, 1);
  Work<T> work;
  ETB_CHECK(work.allocate(context, std::max(rows, columns), count, out.has_vectors, out.is_full));
  const Matrix<T> shown = is_wide ? work.reduction.columns : work.reduction.columns.transposed();
  const int64_t batch_count = product(batch_sizes(a, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    double scale = 1;
    ETB_CHECK(copy_matrix(context, from[item], shown));
    ETB_CHECK(scale_to_range(context, as_parts(work.reduction.columns), &scale));
    if (scale != scale)
      return context.fail(ETB_INVALID_ARGUMENT, "matrix %lld of the batch has elements that are not finite",
                          static_cast<long long>(item));
    ETB_CHECK(work.run(context));
    const Matrix<Real> values = s[item];
    for (int64_t i = 0; i < count; ++i)
      values.at(i, 0) = static_cast<Real>(work.bidiagonal.diagonal[i] * scale);
    if (!out.has_vectors) continue;
    ETB_CHECK(conjugate_elements(context, work.right));  // rows of V^H
    ETB_CHECK(copy_matrix(context, (is_wide ? work.right : work.left).transposed(), u[item]));
    ETB_CHECK(copy_matrix(context, is_wide ? work.left : work.right, vh[item]));
  }
  return ETB_OK;
}

etb_status svd_out(KernelContext& context, ops::_linalg_svd_U<KernelArguments> args) {
  const Tensor& a = args.A();
  const Outputs out = {args.U(), args.S(), args.Vh(), args.compute_uv(), args.full_matrices()};
  ETB_CHECK(expect_matrices(context, "A", a));
  ETB_CHECK(expect_one_dtype(context, {&a, &out.u, &out.vh}));
  ETB_CHECK(expect_part_dtype(context, a, out.s));
  const auto batch = batch_sizes(a, 2);
  const int64_t rows = a.size(a.rank() - 2), columns = a.size(a.rank() - 1), count = std::min(rows, columns);
  const int64_t none = 0;
  const std::span<const int64_t> nothing{&none, 1};
  const BatchedSizes u(batch, {rows, out.is_full ? rows : count});
  const BatchedSizes vh(batch, {out.is_full ? columns : count, columns});
  ETB_CHECK(resize_output(context, out.s, BatchedSizes(batch, {count})));
  ETB_CHECK(resize_output(context, out.u, out.has_vectors ? std::span<const int64_t>(u) : nothing));
  ETB_CHECK(resize_output(context, out.vh, out.has_vectors ? std::span<const int64_t>(vh) : nothing));
  return with_number(a.dtype(), [&](auto type) { return svd<decltype(type)>(context, a, out); });
}

constexpr Kernel kRows[] = {kernel_row<ops::_linalg_svd_U, svd_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_svd, kRows);

}  // namespace etb::host
