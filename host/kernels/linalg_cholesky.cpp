// SPDX-License-Identifier: Apache-2.0
// aten::linalg_cholesky_ex.
#include <cmath>

#include "host/kernels/linalg.hpp"
#include "ops/linalg_cholesky_ex.hpp"

namespace etb::host {
namespace {

// Rows that are factored one by one, before products update the rest.
constexpr int64_t kBlock = 48;

// Factors the square block of [begin, end). Returns the number from 1 of the first leading minor that is not positive, else 0.
// Imaginary parts of the diagonal are not read.
template <class T>
int32_t factor_diagonal(const LinearLoops<T>& loops, const Matrix<T>& a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const RealOf<T> own = real_part(a.at(i, i));
    a.at(i, i) = own;
    if (!(own > 0)) return static_cast<int32_t>(i + 1);
    const T root = std::sqrt(own);
    a.at(i, i) = root;
    const int64_t left = end - i - 1;
    if (left == 0) break;
    T* row = a.row(i) + i + 1;
    loops.divide(row, root, left);
    T column[kBlock];
    for (int64_t j = 0; j < left; ++j) column[j] = conjugate(row[j]);
    loops.subtract_outer(a.row(i + 1) + i + 1, a.row_stride, left, left, column, 1, row);
  }
  return 0;
}

// The adjoint of an upper triangle; that of complex numbers is written to `spare`.
template <class T>
Matrix<T> adjoint_of(const Matrix<T>& upper, const Matrix<T>& spare) {
  if constexpr (!kIsComplex<T>) return upper.transposed();
  const Matrix<T> out = spare.block(0, 0, upper.rows, upper.rows);
  for (int64_t i = 0; i < upper.rows; ++i)
    for (int64_t j = 0; j <= i; ++j) out.at(i, j) = conjugate(upper.at(j, i));
  return out;
}

// A = U^H U in place, for a matrix of dense rows of which the upper triangle is given. Below the diagonal remain other numbers.
template <class T>
etb_status factor_cholesky(KernelContext& context, const Matrix<T>& a, int32_t* out_info) {
  const LinearLoops<T>& loops = vector_table(context).linear<T>();
  Matrix<T> adjoint;
  if (kIsComplex<T>) ETB_CHECK(allocate_matrix(context, kBlock, kBlock, &adjoint));
  *out_info = 0;
  for (int64_t begin = 0; begin < a.rows; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, a.rows), left = a.rows - end;
    if (context.should_stop(kBlock * kBlock)) return context.stopped();
    if ((*out_info = factor_diagonal(loops, a, begin, end)) != 0) return ETB_OK;
    const Matrix<T> diagonal = a.block(begin, begin, end - begin, end - begin);
    const Matrix<T> right = a.block(begin, end, end - begin, left);
    ETB_CHECK(solve_triangular(context, adjoint_of(diagonal, adjoint), false, false, right));
    // Only what is right of the diagonal changes: a strip of rows at a time.
    constexpr int64_t kStrip = 2 * kBlock;
    for (int64_t i = 0; i < left; i += kStrip) {
      const int64_t height = std::min(kStrip, left - i);
      ETB_CHECK(add_adjoint_product(context, a.block(end + i, end + i, height, left - i),
                                    right.block(0, i, end - begin, height),
                                    right.block(0, i, end - begin, left - i), -1));
    }
  }
  return ETB_OK;
}

template <class T>
etb_status clear_below(KernelContext& context, const Matrix<T>& a) {
  return for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i) std::fill_n(a.row(i), i, T(0));
  });
}

// The lower factor is the transpose of the upper one, of the transposed matrix. Neither is conjugated: the transposed matrix is
// already the conjugated one.
template <class T>
etb_status cholesky(KernelContext& context, ops::linalg_cholesky_ex_L<KernelArguments> args) {
  const Tensor& self = args.self();
  const int64_t size = self.size(self.rank() - 1);
  const MatrixBatch<T> from(self, 2), to(args.L(), 2);
  const MatrixBatch<int32_t> to_info(args.info(), 0);
  Matrix<T> factor;
  ETB_CHECK(allocate_matrix(context, size, size, &factor));
  const Matrix<T> shown = args.upper() ? factor : factor.transposed();
  const int64_t batch_count = product(batch_sizes(self, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    int32_t info = 0;
    const KernelContext::Mark mark(context);
    ETB_CHECK(copy_matrix(context, from[item], shown));
    ETB_CHECK(factor_cholesky(context, factor, &info));
    if (info != 0 && args.check_errors())
      return context.fail(ETB_INVALID_ARGUMENT,
                          "matrix %lld of the batch is not positive definite: its leading minor of order %d "
                          "is not positive",
                          static_cast<long long>(item), info);
    ETB_CHECK(clear_below(context, factor));
    ETB_CHECK(copy_matrix(context, shown, to[item]));
    to_info[item].at(0, 0) = info;
  }
  return ETB_OK;
}

etb_status cholesky_out(KernelContext& context, ops::linalg_cholesky_ex_L<KernelArguments> args) {
  const Tensor& self = args.self();
  ETB_CHECK(expect_square(context, "self", self));
  ETB_CHECK(expect_one_dtype(context, {&self, &args.L()}));
  ETB_CHECK(expect_int32(context, "info", args.info()));
  if (self.size(self.rank() - 1) > INT32_MAX)
    return context.fail(ETB_INVALID_ARGUMENT, "self has sizes %s, expected at most 2^31 rows",
                        SizesText(self.sizes()).text);
  ETB_CHECK(resize_output(context, args.L(), self.sizes()));
  ETB_CHECK(resize_output(context, args.info(), batch_sizes(self, 2)));
  return with_number(self.dtype(), [&](auto type) { return cholesky<decltype(type)>(context, args); });
}

constexpr Kernel kRows[] = {kernel_row<ops::linalg_cholesky_ex_L, cholesky_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_cholesky, kRows);

}  // namespace etb::host
