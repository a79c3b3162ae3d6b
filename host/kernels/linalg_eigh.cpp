// SPDX-License-Identifier: Apache-2.0
// aten::_linalg_eigh: eigenvalues and eigenvectors of symmetric and Hermitian matrices. Reflections make the matrix tridiagonal; implicit QL or QR
// steps with shifts make it diagonal.
#include "host/kernels/linalg_spectrum.hpp"
#include "ops/_linalg_eigh.hpp"

namespace etb::host {
namespace {

// A real symmetric tridiagonal matrix: n elements on the diagonal, n - 1 beside it. Scalars are double for float, too.
struct Tridiagonal {
  double *diagonal, *beside;
};

// Copies to `to` the transposed Hermitian matrix of which one triangle is given.
template <class T>
etb_status load_transposed(KernelContext& context, const Matrix<T>& from, bool is_upper,
                           const Matrix<T>& to) {
  ETB_CHECK(copy_matrix(context, from.transposed(), to));
  ETB_CHECK(mirror(context, to, !is_upper));
  if constexpr (!kIsComplex<T>) return ETB_OK;
  const Matrix<T> copied = is_upper ? to : to.transposed();  // above the diagonal
  return for_each_rows(context, to.rows, to.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i) {
      copied.at(i, i) = real_part(copied.at(i, i));
      for (int64_t j = i + 1; j < to.columns; ++j) copied.at(i, j) = conjugate(copied.at(i, j));
    }
  });
}

// Vectors of the reduction: as many elements as the matrix has rows.
template <class T>
struct ReductionVectors {
  T *taus, *products, *conjugate_products, *conjugate_vector;

  etb_status allocate(KernelContext& context, int64_t size) {
    for (T** vector : {&taus, &products, &conjugate_products, &conjugate_vector})
      ETB_CHECK(allocate_vector(context, size, vector));
    return ETB_OK;
  }
};

// A = Q T Q^H, for the transpose of A in `a`. Row k of `a` keeps the vector of reflection k from column k + 1 on.
template <class T>
etb_status make_tridiagonal(KernelContext& context, const Matrix<T>& a, const Tridiagonal& out,
                            const ReductionVectors<T>& work) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t size = a.rows;
  for (int64_t k = 0; k + 1 < size; ++k) {
    const int64_t left = size - k - 1;
    T* v = a.row(k) + k + 1;
    out.diagonal[k] = static_cast<double>(real_part(a.at(k, k)));
    const T tau = work.taus[k] = make_reflection(loops, v, left);
    out.beside[k] = static_cast<double>(real_part(v[0]));
    if (tau == T(0)) continue;
    v[0] = 1;
    T *rest = a.row(k + 1) + k + 1, *products = work.products;
    ETB_CHECK(for_each_rows(context, left, left, [&](int64_t begin, int64_t length) {
      loops.dot_rows(products + begin, rest + begin * a.row_stride, a.row_stride, length, left, v);
    }));
    for (int64_t i = 0; i < left; ++i) products[i] *= tau;
    const T half = tau / RealOf<T>(2) * loops.dot(products, v, left);
    loops.add_rows(products, v, 0, 1, left, &half, 1, T(-1));
    for (int64_t i = 0; i < left; ++i) {
      work.conjugate_vector[i] = conjugate(v[i]);
      work.conjugate_products[i] = conjugate(products[i]);
    }
    ETB_CHECK(for_each_rows(context, left, left, [&](int64_t begin, int64_t length) {
      loops.subtract_two_outers(rest + begin * a.row_stride, a.row_stride, length, left,
                                work.conjugate_vector + begin, products, work.conjugate_products + begin, v);
    }));
  }
  if (size > 0) out.diagonal[size - 1] = static_cast<double>(real_part(a.at(size - 1, size - 1)));
  return ETB_OK;
}

// A part of the tridiagonal matrix, counted from the end at which eigenvalues converge: downwards for QL, upwards for QR.
struct Block {
  Tridiagonal matrix;
  int64_t first, last;  // rows
  bool is_upward;

  int64_t row(int64_t i) const { return is_upward ? last - i : first + i; }
  double& d(int64_t i) const { return matrix.diagonal[row(i)]; }
  double& e(int64_t i) const { return matrix.beside[is_upward ? last - 1 - i : first + i]; }
};

// One implicit step with Wilkinson's shift on rows [begin, end] of the block.
template <class T>
bool run_step(KernelContext& context, const Block& block, int64_t begin, int64_t end,
              const Matrix<T>& vectors) {
  const double ratio = (block.d(begin + 1) - block.d(begin)) / (2 * block.e(begin));
  const double root = length_of(ratio, 1.0);
  double g = block.d(end) - block.d(begin) + block.e(begin) / (ratio + std::copysign(root, ratio));
  double sine = 1, cosine = 1, shift = 0;
  for (int64_t i = end - 1; i >= begin; --i) {
    const double f = sine * block.e(i), kept = cosine * block.e(i);
    const Rotation rotation = make_rotation(g, f);
    if (i + 1 < end) block.e(i + 1) = rotation.r;
    cosine = rotation.cosine;
    sine = rotation.sine;
    g = block.d(i + 1) - shift;
    const double r = (block.d(i) - g) * sine + 2 * cosine * kept;
    shift = sine * r;
    block.d(i + 1) = g + shift;
    g = cosine * r - kept;
    if (!rotate_rows(context, vectors, block.row(i + 1), block.row(i), rotation)) return false;
  }
  block.d(begin) -= shift;
  block.e(begin) = g;
  return true;
}

// Compares squares, because this is asked for each element before each step.
bool is_negligible(const Block& block, int64_t i, double epsilon) {
  const double beside = block.e(i);
  return beside * beside <= epsilon * epsilon * std::abs(block.d(i) * block.d(i + 1)) ||
         std::abs(beside) <= std::numeric_limits<double>::min();
}

etb_status fail_to_converge(KernelContext& context) {
  return context.fail(ETB_INVALID_ARGUMENT,
                      "the eigenvalues do not converge: the matrix is ill-conditioned or has too many equal "
                      "eigenvalues");
}

// Makes one block diagonal, its eigenvalues in no order.
template <class T>
etb_status diagonalise_block(KernelContext& context, const Block& block, const Matrix<T>& vectors,
                             int64_t* steps_left) {
  constexpr double kEpsilon = std::numeric_limits<RealOf<T>>::epsilon() / 2;
  const int64_t last = block.last - block.first;
  for (int64_t begin = 0; begin < last;) {
    int64_t end = begin;
    while (end < last && !is_negligible(block, end, kEpsilon)) ++end;
    if (context.should_stop(1 + end - begin)) return context.stopped();
    if (end < last) block.e(end) = 0;
    if (end == begin) {
      ++begin;
      continue;
    }
    if (--*steps_left < 0) return fail_to_converge(context);
    if (!run_step(context, block, begin, end, vectors)) return context.stopped();
  }
  return ETB_OK;
}

// T = S D S'. Row i of `vectors`, if there are any, becomes the eigenvector of value i.
template <class T>
etb_status diagonalise(KernelContext& context, const Tridiagonal& matrix, int64_t size,
                       const Matrix<T>& vectors) {
  constexpr double kEpsilon = std::numeric_limits<RealOf<T>>::epsilon() / 2;
  int64_t steps_left = 30 * size;
  for (int64_t first = 0; first < size;) {
    int64_t last = first;
    while (last + 1 < size && !is_negligible({matrix, 0, size - 1, false}, last, kEpsilon)) ++last;
    if (last + 1 < size) matrix.beside[last] = 0;
    // Eigenvalues converge at the end with the smaller element.
    const bool is_upward = std::abs(matrix.diagonal[last]) < std::abs(matrix.diagonal[first]);
    ETB_CHECK(diagonalise_block(context, {matrix, first, last, is_upward}, vectors, &steps_left));
    first = last + 1;
  }
  return sort_with_rows(context, matrix.diagonal, size, vectors, Matrix<T>{}, std::less<>());
}

template <class T>
struct Work {
  Matrix<T> matrix, vectors;
  Tridiagonal tridiagonal;
  ReductionVectors<T> reduction;

  etb_status allocate(KernelContext& context, int64_t size, bool has_vectors) {
    ETB_CHECK(allocate_matrix(context, size, size, &matrix));
    if (has_vectors) ETB_CHECK(allocate_matrix(context, size, size, &vectors));
    ETB_CHECK(allocate_vector(context, size, &tridiagonal.diagonal));
    ETB_CHECK(allocate_vector(context, size, &tridiagonal.beside));
    return reduction.allocate(context, size);
  }
};

template <class T>
etb_status eigh(KernelContext& context, const Tensor& a, bool is_upper, bool has_vectors,
                const Tensor& out_values, const Tensor& out_vectors) {
  const int64_t size = a.size(a.rank() - 1);
  using Real = RealOf<T>;
  const MatrixBatch<T> from(a, 2), vectors(out_vectors, has_vectors ? 2 : 1);
  const MatrixBatch<Real> values(out_values, 1);
  Work<T> work;
  ETB_CHECK(work.allocate(context, size, has_vectors));
  const int64_t batch_count = product(batch_sizes(a, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    double scale = 1;
    ETB_CHECK(load_transposed(context, from[item], is_upper, work.matrix));
    ETB_CHECK(scale_to_range(context, as_parts(work.matrix), &scale));
    if (scale != scale)
      return context.fail(ETB_INVALID_ARGUMENT, "matrix %lld of the batch has elements that are not finite",
                          static_cast<long long>(item));
    ETB_CHECK(make_tridiagonal(context, work.matrix, work.tridiagonal, work.reduction));
    if (has_vectors) {
      ETB_CHECK(set_identity(context, work.vectors));
      const Reflections<T> q = {work.matrix.block(0, 0, std::max<int64_t>(size - 1, 0), size), 1,
                                work.reduction.taus};
      ETB_CHECK(apply_reflections(context, q, true, true, work.vectors));
    }
    ETB_CHECK(diagonalise(context, work.tridiagonal, size, work.vectors));
    const Matrix<Real> values_out = values[item];
    for (int64_t i = 0; i < size; ++i)
      values_out.at(i, 0) = static_cast<Real>(work.tridiagonal.diagonal[i] * scale);
    if (has_vectors) ETB_CHECK(copy_matrix(context, work.vectors.transposed(), vectors[item]));
  }
  return ETB_OK;
}

etb_status eigh_out(KernelContext& context, ops::_linalg_eigh_eigenvalues<KernelArguments> args) {
  const Tensor& a = args.A();
  const std::string_view triangle = args.UPLO();
  ETB_CHECK(expect_square(context, "A", a));
  ETB_CHECK(expect_one_dtype(context, {&a, &args.eigenvectors()}));
  ETB_CHECK(expect_part_dtype(context, a, args.eigenvalues()));
  const bool is_upper = triangle == "U" || triangle == "u";
  if (!is_upper && triangle != "L" && triangle != "l")
    return context.fail(ETB_INVALID_ARGUMENT, "UPLO is '%.*s', expected 'L' or 'U'",
                        static_cast<int>(std::min<size_t>(triangle.size(), 20)), triangle.data());
  const int64_t none = 0;
  ETB_CHECK(
      resize_output(context, args.eigenvalues(), BatchedSizes(batch_sizes(a, 2), {a.size(a.rank() - 1)})));
  ETB_CHECK(resize_output(context, args.eigenvectors(),
                          args.compute_v() ? a.sizes() : std::span<const int64_t>{&none, 1}));
  return with_number(a.dtype(), [&](auto type) {
    return eigh<decltype(type)>(context, a, is_upper, args.compute_v(), args.eigenvalues(),
                                args.eigenvectors());
  });
}

constexpr Kernel kRows[] = {kernel_row<ops::_linalg_eigh_eigenvalues, eigh_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_eigh, kRows);

}  // namespace etb::host
