// SPDX-License-Identifier: Apache-2.0
// aten::linalg_lu_factor_ex, linalg_lu_solve and lu_unpack.
#include "host/kernels/linalg_lu.hpp"

#include "ops/linalg_lu_factor_ex.hpp"
#include "ops/linalg_lu_solve.hpp"
#include "ops/lu_unpack.hpp"

namespace etb::host {
namespace {

// Columns that are factored one by one, before products update the rest.
constexpr int64_t kBlock = 32;

template <class T>
int64_t find_pivot(const Matrix<T>& a, int64_t column) {
  int64_t best = column;
  RealOf<T> largest = sum_of_magnitudes(a.at(column, column));
  for (int64_t i = column + 1; i < a.rows; ++i) {
    const RealOf<T> value = sum_of_magnitudes(a.at(i, column));
    if (value > largest) {
      largest = value;
      best = i;
    }
  }
  return best;
}

// Factors the columns [begin, end) below row `begin`; exchanges whole rows.
template <class T>
etb_status factor_panel(KernelContext& context, const Matrix<T>& a, int64_t begin, int64_t end,
                        bool has_pivots, int32_t* pivots, int32_t* out_info) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  for (int64_t c = begin; c < end; ++c) {
    if (context.should_stop(a.rows - c + a.columns)) return context.stopped();
    const int64_t pivot = has_pivots ? find_pivot(a, c) : c;
    pivots[c] = static_cast<int32_t>(pivot);
    if (pivot != c) std::swap_ranges(a.row(c), a.row(c) + a.columns, a.row(pivot));
    const T divisor = a.at(c, c);
    if (divisor == T(0)) {
      if (*out_info == 0) *out_info = static_cast<int32_t>(c + 1);
      continue;
    }
    for (int64_t i = c + 1; i < a.rows; ++i) a.at(i, c) /= divisor;
    const Matrix<T> rest = a.block(c + 1, c + 1, a.rows - c - 1, end - c - 1);
    ETB_CHECK(for_each_rows(context, rest.rows, rest.columns, [&](int64_t first, int64_t count) {
      loops.subtract_outer(rest.row(first), rest.row_stride, count, rest.columns, &a.at(c + 1 + first, c),
                           a.row_stride, a.row(c) + c + 1);
    }));
  }
  return ETB_OK;
}

}  // namespace

template <class T>
etb_status factor_lu(KernelContext& context, const Matrix<T>& a, bool has_pivots, int32_t* pivots,
                     int32_t* out_info) noexcept {
  *out_info = 0;
  const int64_t count = std::min(a.rows, a.columns);
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count), rows_left = a.rows - end,
                  columns_left = a.columns - end;
    ETB_CHECK(factor_panel(context, a, begin, end, has_pivots, pivots, out_info));
    if (columns_left == 0) continue;
    const Matrix<T> upper = a.block(begin, end, end - begin, columns_left);
    ETB_CHECK(solve_triangular(context, a.block(begin, begin, end - begin, end - begin), false, true, upper));
    ETB_CHECK(multiply_add(context, a.block(end, end, rows_left, columns_left),
                           a.block(end, begin, rows_left, end - begin), upper, -1));
  }
  return ETB_OK;
}

template <class T>
etb_status exchange_rows(KernelContext& context, const int32_t* pivots, int64_t count, bool is_backward,
                         const Matrix<T>& x) noexcept {
  for (int64_t k = 0; k < count; ++k) {
    if (context.should_stop(1 + x.columns)) return context.stopped();
    const int64_t i = is_backward ? count - 1 - k : k;
    if (pivots[i] != i) std::swap_ranges(x.row(i), x.row(i) + x.columns, x.row(pivots[i]));
  }
  return ETB_OK;
}

template <class T>
etb_status solve_lu(KernelContext& context, const Matrix<T>& lu, const int32_t* pivots, bool is_transposed,
                    const Matrix<T>& x) noexcept {
  if (is_transposed) {
    ETB_CHECK(solve_triangular(context, lu.transposed(), false, false, x));
    ETB_CHECK(solve_triangular(context, lu.transposed(), true, true, x));
    return exchange_rows(context, pivots, lu.rows, true, x);
  }
  ETB_CHECK(exchange_rows(context, pivots, lu.rows, false, x));
  ETB_CHECK(solve_triangular(context, lu, false, true, x));
  return solve_triangular(context, lu, true, false, x);
}

#define ETB_INSTANTIATE(T)                                                                            \
  template etb_status factor_lu(KernelContext&, const Matrix<T>&, bool, int32_t*, int32_t*) noexcept; \
  template etb_status exchange_rows(KernelContext&, const int32_t*, int64_t, bool,                    \
                                    const Matrix<T>&) noexcept;                                       \
  template etb_status solve_lu(KernelContext&, const Matrix<T>&, const int32_t*, bool,                \
                               const Matrix<T>&) noexcept;
ETB_INSTANTIATE(float)
ETB_INSTANTIATE(double)
ETB_INSTANTIATE(ComplexNumber<float>)
ETB_INSTANTIATE(ComplexNumber<double>)
#undef ETB_INSTANTIATE

namespace {

// Copies pivots, which count rows from 1, to `out`, from 0. Fails for a row that the matrix does not have.
etb_status load_pivots(KernelContext& context, const Matrix<int32_t>& pivots, int64_t row_count,
                       int32_t* out) {
  for (int64_t i = 0; i < pivots.rows; ++i) {
    if (context.should_stop(1)) return context.stopped();
    const int32_t pivot = pivots.at(i, 0);
    if (pivot < 1 || pivot > row_count)
      return context.fail(ETB_INVALID_ARGUMENT, "pivot %lld is row %d, expected 1 to %lld",
                          static_cast<long long>(i), pivot, static_cast<long long>(row_count));
    out[i] = pivot - 1;
  }
  return ETB_OK;
}

template <class T>
etb_status lu_factor(KernelContext& context, ops::linalg_lu_factor_ex_out<KernelArguments> args) {
  const Tensor& a = args.A();
  const int64_t rows = a.size(a.rank() - 2), columns = a.size(a.rank() - 1), count = std::min(rows, columns);
  const MatrixBatch<T> from(a, 2), to(args.LU(), 2);
  const MatrixBatch<int32_t> to_pivots(args.pivots(), 1), to_info(args.info(), 0);
  Matrix<T> lu;
  int32_t* pivots = nullptr;
  ETB_CHECK(allocate_matrix(context, rows, columns, &lu));
  ETB_CHECK(allocate_vector(context, count, &pivots));
  const int64_t batch_count = product(batch_sizes(a, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    int32_t info = 0;
    ETB_CHECK(copy_matrix(context, from[item], lu));
    ETB_CHECK(factor_lu(context, lu, args.pivot(), pivots, &info));
    if (info != 0 && args.check_errors())
      return context.fail(ETB_INVALID_ARGUMENT,
                          "matrix %lld of the batch is singular: element %d of U's diagonal is zero",
                          static_cast<long long>(item), info);
    ETB_CHECK(copy_matrix(context, lu, to[item]));
    to_info[item].at(0, 0) = info;
    const Matrix<int32_t> pivots_out = to_pivots[item];
    for (int64_t i = 0; i < count; ++i) pivots_out.at(i, 0) = pivots[i] + 1;
  }
  return ETB_OK;
}

etb_status lu_factor_out(KernelContext& context, ops::linalg_lu_factor_ex_out<KernelArguments> args) {
  const Tensor& a = args.A();
  ETB_CHECK(expect_matrices(context, "A", a));
  ETB_CHECK(expect_one_dtype(context, {&a, &args.LU()}));
  ETB_CHECK(expect_int32(context, "pivots", args.pivots()));
  ETB_CHECK(expect_int32(context, "info", args.info()));
  const int64_t count = std::min(a.size(a.rank() - 2), a.size(a.rank() - 1));
  if (count > INT32_MAX || a.size(a.rank() - 2) > INT32_MAX)
    return context.fail(ETB_INVALID_ARGUMENT, "A has sizes %s, expected at most 2^31 rows",
                        SizesText(a.sizes()).text);
  ETB_CHECK(resize_output(context, args.LU(), a.sizes()));
  ETB_CHECK(resize_output(context, args.pivots(), BatchedSizes(batch_sizes(a, 2), {count})));
  ETB_CHECK(resize_output(context, args.info(), batch_sizes(a, 2)));
  return with_number(a.dtype(), [&](auto type) { return lu_factor<decltype(type)>(context, args); });
}

// Systems with the unknown on the right are solved transposed, so that rows stay dense. Systems of a conjugated matrix are solved as
// the conjugated ones of the matrix itself.
template <class T>
etb_status lu_solve(KernelContext& context, const ops::linalg_lu_solve_out<KernelArguments>& args,
                    std::span<const int64_t> batch) {
  const bool is_left = args.left();
  const int64_t size = args.LU().size(args.LU().rank() - 1);
  const int64_t columns = args.B().size(args.B().rank() - (is_left ? 1 : 2));
  const MatrixBatch<T> factors(args.LU(), 2, batch), right_sides(args.B(), 2, batch), results(args.out(), 2);
  const MatrixBatch<int32_t> all_pivots(args.pivots(), 1, batch);
  Matrix<T> x;
  int32_t* pivots = nullptr;
  ETB_CHECK(allocate_matrix(context, size, columns, &x));
  ETB_CHECK(allocate_vector(context, size, &pivots));
  const int64_t batch_count = product(batch);
  for (int64_t item = 0; item < batch_count; ++item) {
    const KernelContext::Mark mark(context);
    const Matrix<T> x_out = is_left ? x : x.transposed();
    Matrix<T> lu;
    ETB_CHECK(dense_side(context, factors[item], &lu));
    ETB_CHECK(load_pivots(context, all_pivots[item], size, pivots));
    ETB_CHECK(copy_matrix(context, right_sides[item], x_out));
    if (args.adjoint()) ETB_CHECK(conjugate_matrix(context, x));
    ETB_CHECK(solve_lu(context, lu, pivots, args.adjoint() == is_left, x));
    if (args.adjoint()) ETB_CHECK(conjugate_matrix(context, x));
    ETB_CHECK(copy_matrix(context, x_out, results[item]));
  }
  return ETB_OK;
}

etb_status lu_solve_out(KernelContext& context, ops::linalg_lu_solve_out<KernelArguments> args) {
  const Tensor &lu = args.LU(), &b = args.B(), &pivots = args.pivots();
  ETB_CHECK(expect_square(context, "LU", lu));
  ETB_CHECK(expect_matrices(context, "B", b));
  ETB_CHECK(expect_one_dtype(context, {&lu, &b, &args.out()}));
  ETB_CHECK(expect_int32(context, "pivots", pivots));
  const int64_t size = lu.size(lu.rank() - 1);
  if (pivots.rank() != lu.rank() - 1 ||
      !std::equal(pivots.sizes().begin(), pivots.sizes().end(), lu.sizes().begin()))
    return context.fail(ETB_INVALID_ARGUMENT, "pivots have sizes %s, for factors of sizes %s",
                        SizesText(pivots.sizes()).text, SizesText(lu.sizes()).text);
  if (b.size(b.rank() - (args.left() ? 2 : 1)) != size)
    return context.fail(ETB_INVALID_ARGUMENT, "B has sizes %s, for factors of sizes %s",
                        SizesText(b.sizes()).text, SizesText(lu.sizes()).text);
  int64_t sizes[kMaxRank];
  size_t count = 0;
  ETB_CHECK(broadcast_batches(context, lu, 2, b, 2, sizes, &count));
  const std::span<const int64_t> batch{sizes, count};
  ETB_CHECK(
      resize_output(context, args.out(), BatchedSizes(batch, {b.size(b.rank() - 2), b.size(b.rank() - 1)})));
  return with_number(lu.dtype(), [&](auto type) { return lu_solve<decltype(type)>(context, args, batch); });
}

template <class T>
etb_status unpack_factors(KernelContext& context, const Matrix<T>& lu, const Matrix<T>& lower,
                          const Matrix<T>& upper) {
  ETB_CHECK(set_identity(context, lower));
  ETB_CHECK(fill_matrix(context, upper, T(0)));
  return for_each_rows(context, lu.rows, lu.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i) {
      for (int64_t j = 0; j < std::min(i, lower.columns); ++j) lower.at(i, j) = lu.at(i, j);
      for (int64_t j = i; i < upper.rows && j < upper.columns; ++j) upper.at(i, j) = lu.at(i, j);
    }
  });
}

// P has a one in column i and the row to which the exchanges move row i.
template <class T>
etb_status unpack_pivots(KernelContext& context, const Matrix<int32_t>& pivots, const Matrix<T>& p,
                         int32_t* order, int32_t* checked) {
  ETB_CHECK(load_pivots(context, pivots, p.rows, checked));
  ETB_CHECK(fill_matrix(context, p, T(0)));
  for (int64_t i = 0; i < p.rows; ++i) order[i] = static_cast<int32_t>(i);
  for (int64_t i = 0; i < pivots.rows; ++i) std::swap(order[i], order[checked[i]]);
  for (int64_t i = 0; i < p.rows; ++i) p.at(order[i], i) = 1;
  return context.should_stop(p.rows) ? context.stopped() : ETB_OK;
}

template <class T>
etb_status lu_unpack(KernelContext& context, ops::lu_unpack_out<KernelArguments> args) {
  const MatrixBatch<T> factors(args.LU_data(), 2), p(args.P(), 2), lower(args.L(), 2), upper(args.U(), 2);
  const MatrixBatch<int32_t> pivots(args.LU_pivots(), 1);
  const int64_t rows = args.LU_data().size(args.LU_data().rank() - 2);
  int32_t *order = nullptr, *checked = nullptr;
  ETB_CHECK(allocate_vector(context, rows, &order));
  ETB_CHECK(allocate_vector(context, rows, &checked));
  const int64_t batch_count = product(batch_sizes(args.LU_data(), 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    if (context.should_stop(1)) return context.stopped();
    if (args.unpack_data()) ETB_CHECK(unpack_factors(context, factors[item], lower[item], upper[item]));
    if (args.unpack_pivots()) ETB_CHECK(unpack_pivots(context, pivots[item], p[item], order, checked));
  }
  return ETB_OK;
}

// Parts that are not asked for are empty.
etb_status lu_unpack_out(KernelContext& context, ops::lu_unpack_out<KernelArguments> args) {
  const Tensor &lu = args.LU_data(), &pivots = args.LU_pivots();
  ETB_CHECK(expect_matrices(context, "LU_data", lu));
  ETB_CHECK(expect_one_dtype(context, {&lu, &args.P(), &args.L(), &args.U()}));
  ETB_CHECK(expect_int32(context, "LU_pivots", pivots));
  const int64_t rows = lu.size(lu.rank() - 2), columns = lu.size(lu.rank() - 1);
  const int64_t count = std::min(rows, columns);
  const auto batch = batch_sizes(lu, 2);
  const BatchedSizes pivot_sizes(batch, {count});
  const std::span<const int64_t> expected = pivot_sizes;
  if (args.unpack_pivots() &&
      !std::equal(expected.begin(), expected.end(), pivots.sizes().begin(), pivots.sizes().end()))
    return context.fail(ETB_INVALID_ARGUMENT, "LU_pivots have sizes %s, expected %s",
                        SizesText(pivots.sizes()).text, SizesText(expected).text);
  const int64_t none = 0;
  const std::span<const int64_t> nothing{&none, 1};
  const BatchedSizes p(batch, {rows, rows}), lower(batch, {rows, count}), upper(batch, {count, columns});
  ETB_CHECK(resize_output(context, args.P(), args.unpack_pivots() ? std::span<const int64_t>(p) : nothing));
  ETB_CHECK(resize_output(context, args.L(), args.unpack_data() ? std::span<const int64_t>(lower) : nothing));
  ETB_CHECK(resize_output(context, args.U(), args.unpack_data() ? std::span<const int64_t>(upper) : nothing));
  return with_number(lu.dtype(), [&](auto type) { return lu_unpack<decltype(type)>(context, args); });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::linalg_lu_factor_ex_out, lu_factor_out>(),
    kernel_row<ops::linalg_lu_solve_out, lu_solve_out>(),
    kernel_row<ops::lu_unpack_out, lu_unpack_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_lu, kRows);

}  // namespace etb::host
