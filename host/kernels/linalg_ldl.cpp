// SPDX-License-Identifier: Apache-2.0
// aten::linalg_ldl_factor_ex and linalg_ldl_solve: A = L D L^T, or L D L^H for a Hermitian matrix, with blocks of 1 or 2 rows on D's
// diagonal, chosen as by Bunch and Kaufman. A positive pivot is the row, from 1, that was exchanged with a block of one row; two equal negative ones belong to a block
// of two, whose second row was exchanged.
#include "host/kernels/linalg.hpp"
#include "ops/linalg_ldl_factor_ex.hpp"
#include "ops/linalg_ldl_solve.hpp"

namespace etb::host {
namespace {

// The rows of the next block and the row that is exchanged with its last one.
struct Choice {
  int64_t height, exchanged;
  bool is_zero;
};

template <class T>
int64_t largest_of(const T* row, int64_t begin, int64_t end, int64_t but) {
  int64_t best = -1;
  for (int64_t j = begin; j < end; ++j)
    if (j != but && (best < 0 || sum_of_magnitudes(row[j]) > sum_of_magnitudes(row[best]))) best = j;
  return best;
}

// Reads rows of the symmetric or Hermitian matrix, of which both triangles are kept.
template <class T>
Choice choose(const Matrix<T>& a, int64_t k) {
  using Real = RealOf<T>;
  constexpr Real kGrowth = static_cast<Real>(0.6403882032022076);  // (1 + sqrt(17)) / 8
  const Real own = sum_of_magnitudes(a.at(k, k));
  const int64_t other = largest_of(a.row(k), k + 1, a.rows, k);
  const Real beside = other < 0 ? Real(0) : sum_of_magnitudes(a.at(k, other));
  if (!(std::max(own, beside) > 0) || own != own) return {1, k, true};
  if (own >= kGrowth * beside) return {1, k, false};
  const Real largest = sum_of_magnitudes(a.at(other, largest_of(a.row(other), k, a.rows, other)));
  if (own >= kGrowth * beside * (beside / largest)) return {1, k, false};
  return {sum_of_magnitudes(a.at(other, other)) >= kGrowth * largest ? 1 : 2, other, false};
}

// Exchanges rows and columns i and j of the part from row and column `begin` on.
template <class T>
void exchange(const Matrix<T>& a, int64_t begin, int64_t i, int64_t j) {
  if (i == j) return;
  std::swap_ranges(a.row(i) + begin, a.row(i) + a.columns, a.row(j) + begin);
  for (int64_t row = begin; row < a.rows; ++row) std::swap(a.at(row, i), a.at(row, j));
}

// The columns of L for a block: those below it, times its inverse. A Hermitian matrix has there the conjugates of the block's rows.
template <class T>
void divide_by_block(const Matrix<T>& a, int64_t k, int64_t height, bool is_hermitian, T* l0, T* l1) {
  const int64_t begin = k + height, left = a.rows - begin;
  const T *x0 = a.row(k) + begin, *x1 = a.row(k + height - 1) + begin;
  const T d0 = a.at(k, k);
  for (int64_t i = 0; i < left; ++i) l0[i] = is_hermitian ? conjugate(x0[i]) : x0[i];
  if (height == 1) {
    for (int64_t i = 0; i < left; ++i) l0[i] = l0[i] / d0;
    return;
  }
  for (int64_t i = 0; i < left; ++i) l1[i] = is_hermitian ? conjugate(x1[i]) : x1[i];
  const T beside = a.at(k + 1, k), by = is_hermitian ? T(magnitude(beside)) : beside, turn = beside / by;
  const T other_turn = is_hermitian ? conjugate(turn) : turn;
  const T r1 = a.at(k + 1, k + 1) / by, r0 = d0 / by, scale = T(1) / (r1 * r0 - T(1)) / by;
  for (int64_t i = 0; i < left; ++i) {
    const T c0 = l0[i], c1 = l1[i];
    l0[i] = scale * (r1 * c0 - turn * c1);
    l1[i] = scale * (r0 * c1 - other_turn * c0);
  }
}

// Removes what rounding leaves of the imaginary parts of a Hermitian matrix's diagonal, from row `begin` on.
template <class T>
void make_diagonal_real(const Matrix<T>& a, int64_t begin) {
  for (int64_t i = begin; i < a.rows; ++i) a.at(i, i) = real_part(a.at(i, i));
}

// Subtracts the block's product from the rest, and writes the columns of L over those of the matrix.
template <class T>
etb_status eliminate(KernelContext& context, const Matrix<T>& a, int64_t k, int64_t height, bool is_hermitian,
                     T* l0, T* l1) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  const int64_t begin = k + height, left = a.rows - begin;
  if (left == 0) return ETB_OK;
  const T *x0 = a.row(k) + begin, *x1 = a.row(k + height - 1) + begin;
  divide_by_block(a, k, height, is_hermitian, l0, l1);
  ETB_CHECK(for_each_rows(context, left, left, [&](int64_t first, int64_t count) {
    T* rest = a.row(begin + first) + begin;
    if (height == 1) return loops.subtract_outer(rest, a.row_stride, count, left, l0 + first, 1, x0);
    loops.subtract_two_outers(rest, a.row_stride, count, left, l0 + first, x0, l1 + first, x1);
  }));
  for (int64_t i = 0; i < left; ++i) {
    a.at(begin + i, k) = l0[i];
    if (height == 2) a.at(begin + i, k + 1) = l1[i];
  }
  if (is_hermitian) make_diagonal_real(a, begin);
  return ETB_OK;
}

// From a symmetric matrix to the Hermitian one with the same lower triangle.
template <class T>
etb_status conjugate_upper(KernelContext& context, const Matrix<T>& a) {
  make_diagonal_real(a, 0);
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = i + 1; j < a.columns; ++j) a.at(i, j) = conjugate(a.at(i, j));
  });
}

template <class T>
etb_status factor(KernelContext& context, const Matrix<T>& a, bool is_hermitian, int32_t* pivots, T* l0,
                  T* l1, int32_t* out_info) {
  *out_info = 0;
  ETB_CHECK(mirror(context, a, false));
  if (is_hermitian) ETB_CHECK(conjugate_upper(context, a));
  for (int64_t k = 0; k < a.rows;) {
    if (context.should_stop(1 + 2 * a.rows)) return context.stopped();
    const Choice choice = choose(a, k);
    if (choice.is_zero && *out_info == 0) *out_info = static_cast<int32_t>(k + 1);
    exchange(a, k, k + choice.height - 1, choice.exchanged);
    const auto shown = static_cast<int32_t>(choice.exchanged + 1);
    pivots[k] = choice.height == 1 ? shown : -shown;
    if (choice.height == 2) pivots[k + 1] = -shown;
    if (!choice.is_zero) ETB_CHECK(eliminate(context, a, k, choice.height, is_hermitian, l0, l1));
    k += choice.height;
  }
  return ETB_OK;
}

template <class T>
etb_status ldl_factor(KernelContext& context, ops::linalg_ldl_factor_ex_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const bool is_hermitian = kIsComplex<T> && args.hermitian();
  const int64_t size = self.size(self.rank() - 1);
  const MatrixBatch<T> from(self, 2), to(args.LD(), 2);
  const MatrixBatch<int32_t> to_pivots(args.pivots(), 1), to_info(args.info(), 0);
  Matrix<T> work;
  T *l0 = nullptr, *l1 = nullptr;
  int32_t* pivots = nullptr;
  ETB_CHECK(allocate_matrix(context, size, size, &work));
  ETB_CHECK(allocate_vector(context, size, &l0));
  ETB_CHECK(allocate_vector(context, size, &l1));
  ETB_CHECK(allocate_vector(context, size, &pivots));
  const int64_t batch_count = product(batch_sizes(self, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    int32_t info = 0;
    ETB_CHECK(copy_matrix(context, from[item], work));
    ETB_CHECK(factor(context, work, is_hermitian, pivots, l0, l1, &info));
    if (info != 0 && args.check_errors())
      return context.fail(ETB_INVALID_ARGUMENT,
                          "matrix %lld of the batch is singular: element %d of D's diagonal is zero",
                          static_cast<long long>(item), info);
    ETB_CHECK(for_each_rows(context, size, size, [&](int64_t begin, int64_t length) {
      for (int64_t i = begin; i < begin + length; ++i) std::fill_n(work.row(i) + i + 1, size - i - 1, T(0));
    }));
    ETB_CHECK(copy_matrix(context, work, to[item]));
    to_info[item].at(0, 0) = info;
    ETB_CHECK(copy_matrix(context, Matrix<int32_t>{pivots, size, 1, 1, 1}, to_pivots[item]));
  }
  return ETB_OK;
}

etb_status ldl_factor_out(KernelContext& context, ops::linalg_ldl_factor_ex_out<KernelArguments> args) {
  const Tensor& self = args.self();
  ETB_CHECK(expect_square(context, "self", self));
  ETB_CHECK(expect_one_dtype(context, {&self, &args.LD()}));
  ETB_CHECK(expect_int32(context, "pivots", args.pivots()));
  ETB_CHECK(expect_int32(context, "info", args.info()));
  const int64_t size = self.size(self.rank() - 1);
  if (size >= INT32_MAX)
    return context.fail(ETB_INVALID_ARGUMENT, "self has sizes %s, expected less than 2^31 rows",
                        SizesText(self.sizes()).text);
  ETB_CHECK(resize_output(context, args.LD(), self.sizes()));
  ETB_CHECK(resize_output(context, args.pivots(), BatchedSizes(batch_sizes(self, 2), {size})));
  ETB_CHECK(resize_output(context, args.info(), batch_sizes(self, 2)));
  return with_number(self.dtype(), [&](auto type) { return ldl_factor<decltype(type)>(context, args); });
}

// Copies pivots; fails for rows that do not exist and for halves of blocks.
etb_status load_pivots(KernelContext& context, const Matrix<int32_t>& from, int32_t* pivots) {
  const int64_t size = from.rows;
  for (int64_t i = 0; i < size; ++i) pivots[i] = from.at(i, 0);
  if (context.should_stop(1 + size)) return context.stopped();
  for (int64_t k = 0; k < size; k += pivots[k] < 0 ? 2 : 1) {
    const int64_t row = std::abs(static_cast<int64_t>(pivots[k])) - 1;
    const bool is_pair = pivots[k] < 0, has_other = !is_pair || (k + 1 < size && pivots[k + 1] == pivots[k]);
    if (row < 0 || row >= size || !has_other)
      return context.fail(ETB_INVALID_ARGUMENT,
                          "pivot %lld is %d, expected a row of %lld or two equal negative ones",
                          static_cast<long long>(k), pivots[k], static_cast<long long>(size));
  }
  return ETB_OK;
}

template <class T>
void exchange_rows_of(const Matrix<T>& x, int64_t i, int32_t pivot) {
  const int64_t j = std::abs(static_cast<int64_t>(pivot)) - 1;
  if (i != j) std::swap_ranges(x.row(i), x.row(i) + x.columns, x.row(j));
}

// Divides a block's rows by its part of D.
template <class T>
void divide_block(const LinearLoops<T>& loops, const Matrix<T>& ld, int64_t k, bool is_pair,
                  bool is_hermitian, const Matrix<T>& x) {
  const T d0 = is_hermitian ? T(real_part(ld.at(k, k))) : ld.at(k, k);
  if (!is_pair) return loops.divide(x.row(k), d0, x.columns);
  const T below = ld.at(k + 1, k), above = is_hermitian ? conjugate(below) : below;
  const T r0 = d0 / above, r1 = ld.at(k + 1, k + 1) / below;
  const T scale = T(1) / (r0 * r1 - T(1));
  for (int64_t j = 0; j < x.columns; ++j) {
    const T x0 = x.at(k, j) / above, x1 = x.at(k + 1, j) / below;
    x.at(k, j) = scale * (r1 * x0 - x1);
    x.at(k + 1, j) = scale * (r0 * x1 - x0);
  }
}

template <class T>
etb_status solve(KernelContext& context, const Matrix<T>& ld, const int32_t* pivots, bool is_hermitian,
                 const Matrix<T>& x) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  for (int64_t k = 0; k < ld.rows;) {
    const int64_t height = pivots[k] < 0 ? 2 : 1, begin = k + height;
    exchange_rows_of(x, begin - 1, pivots[k]);
    for (int64_t column = k; column < begin; ++column)
      ETB_CHECK(for_each_rows(context, ld.rows - begin, x.columns, [&](int64_t first, int64_t count) {
        loops.subtract_outer(x.row(begin + first), x.row_stride, count, x.columns,
                             &ld.at(begin + first, column), ld.row_stride, x.row(column));
      }));
    divide_block(loops, ld, k, height == 2, is_hermitian, x);
    k = begin;
  }
  // The conjugate of L^H is L^T.
  if (is_hermitian) ETB_CHECK(conjugate_matrix(context, x));
  for (int64_t end = ld.rows; end > 0;) {
    const int64_t height = pivots[end - 1] < 0 ? 2 : 1;
    for (int64_t column = end - height; column < end; ++column)
      ETB_CHECK(for_each_rows(context, ld.rows - end, x.columns, [&](int64_t first, int64_t count) {
        loops.add_rows(x.row(column), x.row(end + first), x.row_stride, count, x.columns,
                       &ld.at(end + first, column), ld.row_stride, T(-1));
      }));
    exchange_rows_of(x, end - 1, pivots[end - 1]);
    end -= height;
  }
  return is_hermitian ? conjugate_matrix(context, x) : ETB_OK;
}

template <class T>
etb_status ldl_solve(KernelContext& context, const ops::linalg_ldl_solve_out<KernelArguments>& args,
                     std::span<const int64_t> batch) {
  const int64_t size = args.LD().size(args.LD().rank() - 1), columns = args.B().size(args.B().rank() - 1);
  const MatrixBatch<T> factors(args.LD(), 2, batch), right_sides(args.B(), 2, batch), results(args.out(), 2);
  const MatrixBatch<int32_t> all_pivots(args.pivots(), 1, batch);
  Matrix<T> ld, x;
  int32_t* pivots = nullptr;
  ETB_CHECK(allocate_matrix(context, size, size, &ld));
  ETB_CHECK(allocate_matrix(context, size, columns, &x));
  ETB_CHECK(allocate_vector(context, size, &pivots));
  const int64_t batch_count = product(batch);
  for (int64_t item = 0; item < batch_count; ++item) {
    ETB_CHECK(copy_matrix(context, factors[item], ld));
    ETB_CHECK(load_pivots(context, all_pivots[item], pivots));
    ETB_CHECK(copy_matrix(context, right_sides[item], x));
    ETB_CHECK(solve(context, ld, pivots, kIsComplex<T> && args.hermitian(), x));
    ETB_CHECK(copy_matrix(context, x, results[item]));
  }
  return ETB_OK;
}

etb_status ldl_solve_out(KernelContext& context, ops::linalg_ldl_solve_out<KernelArguments> args) {
  const Tensor &ld = args.LD(), &b = args.B(), &pivots = args.pivots();
  ETB_CHECK(expect_square(context, "LD", ld));
  ETB_CHECK(expect_matrices(context, "B", b));
  ETB_CHECK(expect_one_dtype(context, {&ld, &b, &args.out()}));
  ETB_CHECK(expect_int32(context, "pivots", pivots));
  if (pivots.rank() != ld.rank() - 1 ||
      !std::equal(pivots.sizes().begin(), pivots.sizes().end(), ld.sizes().begin()) ||
      b.size(b.rank() - 2) != ld.size(ld.rank() - 1))
    return context.fail(ETB_INVALID_ARGUMENT, "B has sizes %s and pivots %s, for factors of sizes %s",
                        SizesText(b.sizes()).text, SizesText(pivots.sizes()).text,
                        SizesText(ld.sizes()).text);
  int64_t sizes[kMaxRank];
  size_t count = 0;
  ETB_CHECK(broadcast_batches(context, ld, 2, b, 2, sizes, &count));
  const std::span<const int64_t> batch{sizes, count};
  ETB_CHECK(
      resize_output(context, args.out(), BatchedSizes(batch, {b.size(b.rank() - 2), b.size(b.rank() - 1)})));
  return with_number(ld.dtype(), [&](auto type) { return ldl_solve<decltype(type)>(context, args, batch); });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::linalg_ldl_factor_ex_out, ldl_factor_out>(),
    kernel_row<ops::linalg_ldl_solve_out, ldl_solve_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_ldl, kRows);

}  // namespace etb::host
