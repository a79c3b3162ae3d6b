// SPDX-License-Identifier: Apache-2.0
// Factorisations whose vectors are not unique, by what they must satisfy; and what kernels of linear algebra reject.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "host/kernels/linalg_fixture.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

// The largest |sum over k of x[k, i] * y[k, j] - expected(i, j)|, for columns of x and y.
template <class T, class Expected>
double distance(const T* x, int64_t x_columns, const T* y, int64_t y_columns, int64_t depth,
                Expected expected) {
  double largest = 0;
  for (int64_t i = 0; i < x_columns; ++i)
    for (int64_t j = 0; j < y_columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += static_cast<double>(x[k * x_columns + i]) * static_cast<double>(y[k * y_columns + j]);
      largest = std::max(largest, std::abs(sum - expected(i, j)));
    }
  return largest;
}
double identity(int64_t i, int64_t j) { return i == j ? 1 : 0; }

template <class T>
void check_eigenvectors(int64_t n, std::vector<T> a) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) a[static_cast<size_t>(j * n + i)] = a[static_cast<size_t>(i * n + j)];
  Call call;
  const std::vector<T> room(static_cast<size_t>(n * n));
  call.tensor(kDtype<T>, {n, n}, a).add(EValue("L")).add(EValue(true));
  call.tensor(kDtype<T>, {n}, std::vector<T>(static_cast<size_t>(n))).tensor(kDtype<T>, {n, n}, room);
  ASSERT_EQ(call.run("aten::_linalg_eigh", "eigenvalues"), ETB_OK) << call.message();
  const T *values = call.result<T>(3), *vectors = call.result<T>(4);
  EXPECT_TRUE(std::is_sorted(values, values + n));
  const double bound = 8.0 * std::sqrt(static_cast<double>(n)) * std::numeric_limits<T>::epsilon();
  EXPECT_LT(distance(vectors, n, vectors, n, n, identity), bound);
  // A V = V diag(values); A is symmetric, so that its columns are its rows.
  double norm = 1e-30;
  for (int64_t i = 0; i < n; ++i) norm = std::max(norm, std::abs(static_cast<double>(values[i])));
  EXPECT_LT(distance(a.data(), n, vectors, n, n,
                     [&](int64_t i, int64_t j) {
                       return static_cast<double>(vectors[i * n + j]) * static_cast<double>(values[j]);
                     }),
            bound * norm);
}

template <class T>
void check_singular_vectors(int64_t m, int64_t n, const std::vector<T>& a, bool is_full) {
  const int64_t count = std::min(m, n), left = is_full ? m : count, right = is_full ? n : count;
  Call call;
  call.tensor(kDtype<T>, {m, n}, a).add(EValue(is_full)).add(EValue(true)).add(EValue());
  call.tensor(kDtype<T>, {m, left}, std::vector<T>(static_cast<size_t>(m * left)));
  call.tensor(kDtype<T>, {count}, std::vector<T>(static_cast<size_t>(count)));
  call.tensor(kDtype<T>, {right, n}, std::vector<T>(static_cast<size_t>(right * n)));
  ASSERT_EQ(call.run("aten::_linalg_svd", "U"), ETB_OK) << call.message();
  const T *u = call.result<T>(4), *s = call.result<T>(5), *vh = call.result<T>(6);
  EXPECT_TRUE(std::is_sorted(s, s + count, std::greater<>()));
  EXPECT_GE(s[count - 1], T(0));
  const double bound =
      8.0 * std::sqrt(static_cast<double>(std::max(m, n))) * std::numeric_limits<T>::epsilon();
  EXPECT_LT(distance(u, left, u, left, m, identity), bound);
  // Columns of V are rows of Vh.
  std::vector<T> v(static_cast<size_t>(n * right)), scaled(static_cast<size_t>(count * m)),
      rows(static_cast<size_t>(count * n));
  for (int64_t i = 0; i < right; ++i)
    for (int64_t j = 0; j < n; ++j) v[static_cast<size_t>(j * right + i)] = vh[i * n + j];
  EXPECT_LT(distance(v.data(), right, v.data(), right, n, identity), bound);
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t i = 0; i < m; ++i) scaled[static_cast<size_t>(k * m + i)] = u[i * left + k] * s[k];
    for (int64_t j = 0; j < n; ++j) rows[static_cast<size_t>(k * n + j)] = vh[k * n + j];
  }
  EXPECT_LT(
      distance(scaled.data(), m, rows.data(), n, count,
               [&](int64_t i, int64_t j) { return static_cast<double>(a[static_cast<size_t>(i * n + j)]); }),
      bound * std::max(1e-30, static_cast<double>(s[0])));
}

template <class T>
class Factors : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Factors, Reals);

TYPED_TEST(Factors, EigenvectorsAreOrthogonalAndDiagonalise) {
  for (const int64_t n : {1, 2, 3, 8, 33, 70}) {
    SCOPED_TRACE(n);
    check_eigenvectors(n, random_values<TypeParam>(n * n, static_cast<unsigned>(n)));
  }
  check_eigenvectors<TypeParam>(5, std::vector<TypeParam>(25, TypeParam(1)));  // equal eigenvalues
  check_eigenvectors<TypeParam>(4, std::vector<TypeParam>(16, TypeParam(0)));
  check_eigenvectors<TypeParam>(2, {0, 1, 1, 0});
}

// Squares of these elements are beyond the dtype.
TYPED_TEST(Factors, ExtremeScalesAreReduced) {
  for (const int sign : {-1, 1}) {
    auto a = random_values<TypeParam>(49, 5);
    const int exponent = sign * (std::numeric_limits<TypeParam>::max_exponent - 10);
    for (TypeParam& value : a) value = std::ldexp(value, exponent);
    Call call;
    call.tensor(kDtype<TypeParam>, {7, 7}, a).add(EValue(false)).add(EValue(false)).add(EValue());
    call.tensor(kDtype<TypeParam>, {0}, std::vector<TypeParam>());
    call.tensor(kDtype<TypeParam>, {7}, std::vector<TypeParam>(7));
    call.tensor(kDtype<TypeParam>, {0}, std::vector<TypeParam>());
    ASSERT_EQ(call.run("aten::_linalg_svd", "U"), ETB_OK) << call.message();
    EXPECT_TRUE(std::isfinite(call.result<TypeParam>(5)[0]));
    EXPECT_GT(call.result<TypeParam>(5)[0], std::ldexp(TypeParam(1), exponent));
  }
}

TYPED_TEST(Factors, SingularVectorsAreOrthogonalAndMakeTheMatrix) {
  constexpr int64_t kSizes[][2] = {{1, 1}, {2, 2}, {5, 3}, {3, 5}, {40, 33}, {33, 40}, {70, 4}};
  for (const auto& [m, n] : kSizes)
    for (const bool is_full : {false, true}) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << (is_full ? ", full" : ""));
      check_singular_vectors(m, n, random_values<TypeParam>(m * n, static_cast<unsigned>(m * n)), is_full);
    }
  check_singular_vectors<TypeParam>(4, 4, std::vector<TypeParam>(16, TypeParam(1)), true);  // rank 1
  check_singular_vectors<TypeParam>(3, 3, {0, 1, 0, 0, 0, 2, 0, 0, 0}, false);  // zeros on the diagonal
}

TEST(LinearAlgebra, NonFiniteMatricesHaveNoSingularValues) {
  Call call;
  call.tensor<float>(Dtype::FLOAT32, {2, 2}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 4});
  call.add(EValue(false)).add(EValue(false)).add(EValue());
  call.tensor<float>(Dtype::FLOAT32, {0}, {})
      .tensor<float>(Dtype::FLOAT32, {2}, {0, 0})
      .tensor<float>(Dtype::FLOAT32, {0}, {});
  EXPECT_EQ(call.run("aten::_linalg_svd", "U"), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(call.message(), HasSubstr("matrix 0 of the batch has elements that are not finite"));
}

TEST(LinearAlgebra, SingularMatricesAreNamedWhereErrorsAreChecked) {
  Call call;
  call.tensor<float>(Dtype::FLOAT32, {2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4}).add(EValue(true)).add(EValue(true));
  call.tensor<float>(Dtype::FLOAT32, {2, 2, 2}, std::vector<float>(8))
      .tensor<int32_t>(Dtype::INT32, {2, 2}, {0, 0, 0, 0})
      .tensor<int32_t>(Dtype::INT32, {2}, {0, 0});
  EXPECT_EQ(call.run("aten::linalg_lu_factor_ex", "out"), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(call.message(),
              HasSubstr("matrix 1 of the batch is singular: element 2 of U's diagonal is zero"));
}

TEST(LinearAlgebra, MatricesThatAreNotPositiveDefiniteAreNamed) {
  Call call;
  call.tensor<double>(Dtype::FLOAT64, {2, 2}, {1, 2, 2, 1}).add(EValue(false)).add(EValue(true));
  call.tensor<double>(Dtype::FLOAT64, {2, 2}, std::vector<double>(4)).tensor<int32_t>(Dtype::INT32, {}, {0});
  EXPECT_EQ(call.run("aten::linalg_cholesky_ex", "L"), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(call.message(), HasSubstr("leading minor of order 2 is not positive"));
}

// Pivots are data of the program.
TEST(LinearAlgebra, PivotsBeyondTheMatrixAreRejected) {
  for (const int32_t pivot : {0, -1, 3, INT32_MAX, INT32_MIN}) {
    Call call;
    call.tensor<float>(Dtype::FLOAT32, {2, 2}, {1, 0, 0, 1}).tensor<int32_t>(Dtype::INT32, {2}, {1, pivot});
    call.tensor<float>(Dtype::FLOAT32, {2, 1}, {1, 2}).add(EValue(true)).add(EValue(false));
    call.tensor<float>(Dtype::FLOAT32, {2, 1}, {0, 0});
    EXPECT_EQ(call.run("aten::linalg_lu_solve", "out"), ETB_INVALID_ARGUMENT) << pivot;
    EXPECT_THAT(call.message(), HasSubstr("expected 1 to 2"));
  }
}

TEST(LinearAlgebra, HalvesOfBlocksAreRejected) {
  constexpr int32_t kPivots[][3] = {{-1, 2, 3}, {1, -2, 3}, {1, 2, -3}, {-1, -2, 3},
                                    {0, 2, 3},  {4, 2, 3},  {-4, -4, 3}};
  for (const auto& pivots : kPivots) {
    Call call;
    call.tensor<float>(Dtype::FLOAT32, {3, 3}, std::vector<float>(9, 1));
    call.tensor<int32_t>(Dtype::INT32, {3}, {pivots[0], pivots[1], pivots[2]});
    call.tensor<float>(Dtype::FLOAT32, {3, 1}, {1, 2, 3}).add(EValue(false));
    call.tensor<float>(Dtype::FLOAT32, {3, 1}, {0, 0, 0});
    EXPECT_EQ(call.run("aten::linalg_ldl_solve", "out"), ETB_INVALID_ARGUMENT)
        << pivots[0] << " " << pivots[1];
  }
}

}  // namespace
}  // namespace etb::host
