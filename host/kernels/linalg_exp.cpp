// SPDX-License-Identifier: Apache-2.0
// aten::linalg_matrix_exp: a quotient of polynomials of the scaled matrix (Pade), squared as often as the matrix was halved.
#include <cmath>
#include <limits>

#include "host/kernels/linalg_lu.hpp"
#include "ops/linalg_matrix_exp.hpp"

namespace etb::host {
namespace {

// The degree, and the largest norm for which the quotient is exact to the dtype's precision (Higham 2005, tables 2.3 and 4.1).
template <class T>
constexpr int kDegree = sizeof(RealOf<T>) == 4 ? 7 : 13;
template <class T>
constexpr double kLargestNorm = sizeof(RealOf<T>) == 4 ? 3.92 : 5.37;

// The largest sum of a column's magnitudes; NaN if one is NaN.
template <class T>
etb_status norm_of(KernelContext& context, const Matrix<T>& a, RealOf<T>* sums, double* out_norm) {
  std::fill_n(sums, a.columns, RealOf<T>(0));
  ETB_CHECK(for_each_rows(context, a.rows, a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin; i < begin + length; ++i)
      for (int64_t j = 0; j < a.columns; ++j) sums[j] += magnitude(a.at(i, j));
  }));
  double largest = 0;
  for (int64_t j = 0; j < a.columns; ++j)
    if (!(static_cast<double>(sums[j]) <= largest)) largest = static_cast<double>(sums[j]);
  *out_norm = largest;
  return ETB_OK;
}

template <class T>
struct Work {
  Matrix<T> a, square, even, odd, spare;
  int32_t* pivots;
  RealOf<T>* sums;

  etb_status allocate(KernelContext& context, int64_t size) {
    for (Matrix<T>* matrix : {&a, &square, &even, &odd, &spare})
      ETB_CHECK(allocate_matrix(context, size, size, matrix));
    ETB_CHECK(allocate_vector(context, size, &pivots));
    return allocate_vector(context, size, &sums);
  }
};

// to = spare * square + factor * identity, for Horner's scheme; `first` starts it.
template <class T>
etb_status add_term(KernelContext& context, const Work<T>& work, Matrix<T>& to, Matrix<T>& spare,
                    bool is_first, double factor) {
  if (is_first) {
    ETB_CHECK(fill_matrix(context, to, T(0)));
  } else {
    ETB_CHECK(multiply(context, spare, to, work.square));
    std::swap(to, spare);
  }
  for (int64_t i = 0; i < to.rows; ++i) to.at(i, i) += static_cast<RealOf<T>>(factor);
  return ETB_OK;
}

// a = (even + odd) / (even - odd), where odd holds the odd terms of the numerator.
template <class T>
etb_status divide_polynomials(KernelContext& context, Work<T>& work) {
  double factors[kDegree<T> + 1] = {1};
  for (int j = 1; j <= kDegree<T>; ++j)
    factors[j] = factors[j - 1] * (kDegree<T> - j + 1) / (j * (2.0 * kDegree<T> - j + 1));
  ETB_CHECK(multiply(context, work.square, work.a, work.a));
  for (int j = kDegree<T> - 1; j >= 0; j -= 2) {
    const bool is_first = j == kDegree<T> - 1;
    ETB_CHECK(add_term(context, work, work.even, work.spare, is_first, factors[j]));
    ETB_CHECK(add_term(context, work, work.odd, work.spare, is_first, factors[j + 1]));
  }
  ETB_CHECK(multiply(context, work.spare, work.a, work.odd));
  ETB_CHECK(for_each_rows(context, work.a.rows, work.a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin * work.a.columns; i < (begin + length) * work.a.columns; ++i) {
      work.a.data[i] = work.even.data[i] + work.spare.data[i];
      work.even.data[i] -= work.spare.data[i];
    }
  }));
  int32_t info = 0;
  ETB_CHECK(factor_lu(context, work.even, true, work.pivots, &info));
  return solve_lu(context, work.even, work.pivots, false, work.a);
}

template <class T>
etb_status exponential(KernelContext& context, Work<T>& work) {
  double norm = 0;
  ETB_CHECK(norm_of(context, work.a, work.sums, &norm));
  if (!(norm <= std::numeric_limits<double>::max()))
    return fill_matrix(context, work.a, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
  const int halvings = norm > kLargestNorm<T> ? std::ilogb(norm / kLargestNorm<T>) + 1 : 0;
  const auto scale = static_cast<RealOf<T>>(std::ldexp(1.0, -halvings));
  ETB_CHECK(for_each_rows(context, work.a.rows, work.a.columns, [&](int64_t begin, int64_t length) {
    for (int64_t i = begin * work.a.columns; i < (begin + length) * work.a.columns; ++i)
      work.a.data[i] = work.a.data[i] * scale;
  }));
  ETB_CHECK(divide_polynomials(context, work));
  for (int i = 0; i < halvings; ++i) {
    ETB_CHECK(multiply(context, work.spare, work.a, work.a));
    std::swap(work.a, work.spare);
  }
  return ETB_OK;
}

template <class T>
etb_status matrix_exp(KernelContext& context, const Tensor& self, const Tensor& out) {
  const MatrixBatch<T> from(self, 2), to(out, 2);
  Work<T> work;
  ETB_CHECK(work.allocate(context, self.size(self.rank() - 1)));
  const int64_t batch_count = product(batch_sizes(self, 2));
  for (int64_t item = 0; item < batch_count; ++item) {
    ETB_CHECK(copy_matrix(context, from[item], work.a));
    ETB_CHECK(exponential(context, work));
    ETB_CHECK(copy_matrix(context, work.a, to[item]));
  }
  return ETB_OK;
}

etb_status matrix_exp_out(KernelContext& context, ops::linalg_matrix_exp_out<KernelArguments> args) {
  const Tensor& self = args.self();
  ETB_CHECK(expect_square(context, "self", self));
  ETB_CHECK(expect_one_dtype(context, {&self, &args.out()}));
  if (self.size(self.rank() - 1) > INT32_MAX)
    return context.fail(ETB_INVALID_ARGUMENT, "self has sizes %s, expected at most 2^31 rows",
                        SizesText(self.sizes()).text);
  ETB_CHECK(resize_output(context, args.out(), self.sizes()));
  return with_number(self.dtype(),
                     [&](auto type) { return matrix_exp<decltype(type)>(context, self, args.out()); });
}

constexpr Kernel kRows[] = {kernel_row<ops::linalg_matrix_exp_out, matrix_exp_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(linalg_exp, kRows);

}  // namespace etb::host
