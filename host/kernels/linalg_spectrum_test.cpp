// SPDX-License-Identifier: Apache-2.0
// Eigenvectors and singular vectors of real and complex matrices, by what they must satisfy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host/kernels/linalg_fixture.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;
using Number = std::complex<double>;

template <class T>
struct Part {
  using Type = T;
};
template <class T>
struct Part<std::complex<T>> {
  using Type = T;
};
template <class T>
using PartOfNumber = typename Part<T>::Type;

// Matrices in double precision, by rows.
struct Dense {
  int64_t rows, columns;
  std::vector<Number> values;

  Number& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * columns + j)]; }
  Number at(int64_t i, int64_t j) const { return values[static_cast<size_t>(i * columns + j)]; }
};
template <class T>
Dense dense(int64_t rows, int64_t columns, const T* data) {
  return {rows, columns, std::vector<Number>(data, data + rows * columns)};
}
Dense product_of(const Dense& a, const Dense& b) {
  Dense c = {a.rows, b.columns, std::vector<Number>(static_cast<size_t>(a.rows * b.columns))};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.columns; ++k)
      for (int64_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}
Dense adjoint_of(const Dense& a) {
  Dense b = {a.columns, a.rows, a.values};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j) b.at(j, i) = std::conj(a.at(i, j));
  return b;
}
Dense diagonal(const Number* values, int64_t size) {
  Dense a = {size, size, std::vector<Number>(static_cast<size_t>(size * size))};
  for (int64_t i = 0; i < size; ++i) a.at(i, i) = values == nullptr ? 1.0 : values[i];
  return a;
}
double distance(const Dense& a, const Dense& b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
  return largest;
}
double size_of(const Dense& a) {
  double squares = 1e-300;
  for (const Number& value : a.values) squares += std::norm(value);
  return std::sqrt(squares);
}
template <class T>
double bound_for(int64_t size) {
  return 8.0 * std::sqrt(static_cast<double>(size)) * double{std::numeric_limits<PartOfNumber<T>>::epsilon()};
}

template <class T>
class Spectra : public testing::Test {};
using Numbers = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Spectra, Numbers);

// Expects A V = V diag(values), vectors of norm 1, and values in pairs for real matrices.
template <class T>
void check_general(int64_t n, const std::vector<T>& a) {
  using Result = std::complex<PartOfNumber<T>>;
  Call call;
  call.tensor(kDtype<T>, {n, n}, a);
  call.tensor(kDtype<Result>, {n}, std::vector<Result>(static_cast<size_t>(n)));
  call.tensor(kDtype<Result>, {n, n}, std::vector<Result>(static_cast<size_t>(n * n)));
  ASSERT_EQ(call.run("aten::linalg_eig", "out"), ETB_OK) << call.message();
  const std::vector<Number> values(call.result<Result>(1), call.result<Result>(1) + n);
  const Dense matrix = dense(n, n, a.data()), vectors = dense(n, n, call.result<Result>(2));
  EXPECT_LE(distance(product_of(matrix, vectors), product_of(vectors, diagonal(values.data(), n))),
            bound_for<T>(n) * size_of(matrix));
  for (int64_t j = 0; j < n; ++j) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += std::norm(vectors.at(i, j));
    EXPECT_NEAR(squares, 1, bound_for<T>(n));
  }
  Call other;
  other.tensor(kDtype<T>, {n, n}, a);
  other.tensor(kDtype<Result>, {n}, std::vector<Result>(static_cast<size_t>(n)));
  ASSERT_EQ(other.run("aten::linalg_eigvals", "out"), ETB_OK) << other.message();
  Number sum = 0, trace = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += Number(other.result<Result>(1)[i]);
    trace += matrix.at(i, i);
  }
  EXPECT_LE(std::abs(sum - trace), bound_for<T>(n) * size_of(matrix));
  if (!std::is_floating_point_v<T>) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].imag() == 0) continue;
    ASSERT_LT(i + 1, values.size());
    EXPECT_GT(values[i].imag(), 0);
    EXPECT_EQ(values[i + 1], std::conj(values[i]));
    ++i;
  }
}

TYPED_TEST(Spectra, EigenvectorsOfAnyMatrixAreScaledByIt) {
  for (const int64_t n : {1, 2, 3, 4, 5, 8, 33, 70}) {
    SCOPED_TRACE(n);
    for (unsigned seed = 0; seed < 5; ++seed)
      check_general(n, random_values<TypeParam>(n * n, static_cast<unsigned>(n) + 100 * seed));
  }
}

TYPED_TEST(Spectra, SpecialMatricesHaveEigenvectors) {
  check_general<TypeParam>(0, {});
  check_general<TypeParam>(3, std::vector<TypeParam>(9, TypeParam(0)));
  check_general<TypeParam>(5, std::vector<TypeParam>(25, TypeParam(1)));
  check_general<TypeParam>(2, {0, 1, -1, 0});
  check_general<TypeParam>(2, {0, 1, 0, 0});                 // one vector for two values
  check_general<TypeParam>(3, {0, 1, 0, 0, 0, 1, 1, 0, 0});  // a permutation: plain shifts would cycle
  check_general<TypeParam>(4, {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  check_general<TypeParam>(3, {1, 2, 3, 0, 1, 2, 0, 0, 1});  // equal values
  check_general<TypeParam>(3, {1, 0, 0, 2, 3, 0, 4, 5, 6});  // isolated by zeros
  check_general<TypeParam>(4, {1, 2, 3, 4, 0, 5, 6, 7, 0, 8, 9, 1, 0, 0, 0, 2});
}

// Squares of these elements are beyond the dtype.
TYPED_TEST(Spectra, ExtremeScalesOfAnyMatrixAreReduced) {
  using Real = PartOfNumber<TypeParam>;
  using Result = std::complex<Real>;
  for (const int sign : {-1, 1}) {
    const Real factor = std::ldexp(Real(1), sign * (std::numeric_limits<Real>::max_exponent - 10));
    auto a = random_values<TypeParam>(49, 5);
    for (TypeParam& value : a) value *= factor;
    Call call;
    call.tensor(kDtype<TypeParam>, {7, 7}, a).tensor(kDtype<Result>, {7}, std::vector<Result>(7));
    ASSERT_EQ(call.run("aten::linalg_eigvals", "out"), ETB_OK) << call.message();
    for (int i = 0; i < 7; ++i) {
      EXPECT_TRUE(std::isfinite(std::abs(call.result<Result>(1)[i])));
      EXPECT_GT(std::abs(call.result<Result>(1)[i]), factor / 1000);
    }
  }
}

template <class T>
void check_hermitian(int64_t n, const std::vector<T>& a, const char* triangle) {
  using Real = PartOfNumber<T>;
  Call call;
  call.tensor(kDtype<T>, {n, n}, a).add(EValue(triangle)).add(EValue(true));
  call.tensor(kDtype<Real>, {n}, std::vector<Real>(static_cast<size_t>(n)));
  call.tensor(kDtype<T>, {n, n}, std::vector<T>(static_cast<size_t>(n * n)));
  ASSERT_EQ(call.run("aten::_linalg_eigh", "eigenvalues"), ETB_OK) << call.message();
  const std::vector<Number> values(call.result<Real>(3), call.result<Real>(3) + n);
  const Dense given = dense(n, n, a.data()), vectors = dense(n, n, call.result<T>(4));
  Dense matrix = *triangle == 'U' ? given : adjoint_of(given);
  for (int64_t i = 0; i < n; ++i) {
    matrix.at(i, i) = matrix.at(i, i).real();
    for (int64_t j = 0; j < i; ++j) matrix.at(i, j) = std::conj(matrix.at(j, i));
  }
  EXPECT_LT(distance(product_of(adjoint_of(vectors), vectors), diagonal(nullptr, n)), bound_for<T>(n));
  EXPECT_LT(distance(product_of(matrix, vectors), product_of(vectors, diagonal(values.data(), n))),
            bound_for<T>(n) * size_of(matrix));
}

// The other triangle and the imaginary part of the diagonal are not read.
TYPED_TEST(Spectra, OneTriangleOfHermitianMatricesIsRead) {
  for (const int64_t n : {1, 2, 3, 8, 33, 70})
    for (const char* triangle : {"U", "L"}) {
      SCOPED_TRACE(testing::Message() << n << triangle);
      check_hermitian(n, random_values<TypeParam>(n * n, static_cast<unsigned>(n)), triangle);
    }
}

template <class T>
void check_singular(int64_t m, int64_t n, const std::vector<T>& a, bool is_full) {
  using Real = PartOfNumber<T>;
  const int64_t count = std::min(m, n), left = is_full ? m : count, right = is_full ? n : count;
  Call call;
  call.tensor(kDtype<T>, {m, n}, a).add(EValue(is_full)).add(EValue(true)).add(EValue());
  call.tensor(kDtype<T>, {m, left}, std::vector<T>(static_cast<size_t>(m * left)));
  call.tensor(kDtype<Real>, {count}, std::vector<Real>(static_cast<size_t>(count)));
  call.tensor(kDtype<T>, {right, n}, std::vector<T>(static_cast<size_t>(right * n)));
  ASSERT_EQ(call.run("aten::_linalg_svd", "U"), ETB_OK) << call.message();
  const Dense u = dense(m, left, call.result<T>(4)), vh = dense(right, n, call.result<T>(6));
  Dense s = {left, right, std::vector<Number>(static_cast<size_t>(left * right))};
  for (int64_t i = 0; i < count; ++i) s.at(i, i) = double{call.result<Real>(5)[i]};
  const double bound = bound_for<T>(std::max(m, n));
  EXPECT_LT(distance(product_of(adjoint_of(u), u), diagonal(nullptr, left)), bound);
  EXPECT_LT(distance(product_of(vh, adjoint_of(vh)), diagonal(nullptr, right)), bound);
  EXPECT_LT(distance(product_of(u, product_of(s, vh)), dense(m, n, a.data())), bound * std::abs(s.at(0, 0)));
}

TYPED_TEST(Spectra, SingularVectorsMakeTheMatrix) {
  constexpr int64_t kSizes[][2] = {{1, 1},   {2, 2},  {5, 3}, {3, 5}, {40, 33},
                                   {33, 40}, {70, 4}, {1, 4}, {4, 1}};
  for (const auto& [m, n] : kSizes)
    for (const bool is_full : {false, true}) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << (is_full ? ", full" : ""));
      check_singular(m, n, random_values<TypeParam>(m * n, static_cast<unsigned>(m * n)), is_full);
    }
}

TEST(AnyEigenvalues, MatricesMustBeSquareAndFinite) {
  using Result = std::complex<float>;
  Call call;
  call.tensor<float>(Dtype::FLOAT32, {1, 2}, {1, 2}).tensor<Result>(Dtype::COMPLEX64, {1}, {0});
  EXPECT_EQ(call.run("aten::linalg_eigvals", "out"), ETB_INVALID_ARGUMENT);
  EXPECT_THAT(call.message(), HasSubstr("expected square matrices"));
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Call other;
    other.tensor<float>(Dtype::FLOAT32, {2, 2}, {1, 2, wrong, 4})
        .tensor<Result>(Dtype::COMPLEX64, {2}, {0, 0});
    EXPECT_EQ(other.run("aten::linalg_eigvals", "out"), ETB_INVALID_ARGUMENT);
    EXPECT_THAT(other.message(), HasSubstr("matrix 0 of the batch has elements that are not finite"));
  }
}

TEST(AnyEigenvalues, ResultsMustBeComplex) {
  Call call;
  call.tensor<double>(Dtype::FLOAT64, {1, 1}, {1}).tensor<std::complex<float>>(Dtype::COMPLEX64, {1}, {0});
  EXPECT_EQ(call.run("aten::linalg_eigvals", "out"), ETB_INVALID_TYPE);
  EXPECT_THAT(call.message(), HasSubstr("expected complex128"));
}

}  // namespace
}  // namespace etb::host
