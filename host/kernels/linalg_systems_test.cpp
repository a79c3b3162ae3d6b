// SPDX-License-Identifier: Apache-2.0
// Factors and solutions of real and complex systems, beyond the blocks that kernels work in, by the matrix that they must make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host/kernels/linalg_fixture.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

template <class T>
struct Wide {
  using Type = double;
};
template <class T>
struct Wide<std::complex<T>> {
  using Type = std::complex<double>;
};

double conjugated(double x) { return x; }
std::complex<double> conjugated(std::complex<double> x) { return std::conj(x); }

// Dense rows of double precision.
template <class W>
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<W> data;

  template <class T>
  static Dense read(int64_t rows, int64_t columns, const T* from) {
    Dense out{rows, columns, {}};
    for (int64_t i = 0; i < rows * columns; ++i) out.data.push_back(static_cast<W>(from[i]));
    return out;
  }
  W& at(int64_t i, int64_t j) { return data[static_cast<size_t>(i * columns + j)]; }
  const W& at(int64_t i, int64_t j) const { return data[static_cast<size_t>(i * columns + j)]; }
  Dense transposed(bool conjugates) const {
    Dense out{columns, rows, std::vector<W>(data.size())};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) out.at(j, i) = conjugates ? conjugated(at(i, j)) : at(i, j);
    return out;
  }
  Dense operator*(const Dense& other) const {
    Dense out{rows, other.columns, std::vector<W>(static_cast<size_t>(rows * other.columns))};
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < columns; ++k)
        for (int64_t j = 0; j < other.columns; ++j) out.at(i, j) += at(i, k) * other.at(k, j);
    return out;
  }
  double largest() const {
    double out = 0;
    for (const W& value : data) out = std::max(out, std::abs(value));
    return out;
  }
  double distance(const Dense& other) const {
    double out = 0;
    for (size_t i = 0; i < data.size(); ++i) out = std::max(out, std::abs(data[i] - other.data[i]));
    return out;
  }
  // The triangle on one side of the diagonal, which is one if `is_unit`.
  Dense triangle(bool is_upper, bool is_unit) const {
    Dense out = *this;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        if (is_upper ? j < i : j > i) out.at(i, j) = 0;
        if (is_unit && i == j) out.at(i, j) = 1;
      }
    return out;
  }
  Dense block(int64_t row_count, int64_t column_count) const {
    Dense out{row_count, column_count, {}};
    for (int64_t i = 0; i < row_count; ++i)
      for (int64_t j = 0; j < column_count; ++j) out.data.push_back(at(i, j));
    return out;
  }
};

template <class T>
class Systems : public testing::Test {
 public:
  using W = typename Wide<T>::Type;
  using Matrix = Dense<W>;
  static constexpr bool kIsComplex = !std::is_floating_point_v<T>;
  static constexpr double kEpsilon =
      kDtype<T> == Dtype::FLOAT64 || kDtype<T> == Dtype::COMPLEX128 ? 0x1p-52 : 0x1p-23;

  static std::vector<T> zeros(int64_t count) { return std::vector<T>(static_cast<size_t>(count)); }
  static Matrix read(const std::vector<T>& values, int64_t rows, int64_t columns) {
    return Matrix::read(rows, columns, values.data());
  }
  // B + B^H (or B^T), or that of B times its adjoint, with a diagonal that makes it positive.
  static std::vector<T> symmetric(int64_t n, bool conjugates, bool is_positive) {
    const Matrix b = read(random_values<T>(n * n, 3), n, n), turned = b.transposed(conjugates);
    Matrix a = is_positive ? b * turned : b;
    std::vector<T> out;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const W sum = is_positive ? a.at(i, j) : b.at(i, j) + turned.at(i, j);
        out.push_back(static_cast<T>(is_positive && i == j ? W(std::real(sum) + 1) : sum));
      }
    return out;
  }
  // The rounding errors of a sum of n terms, one after the other.
  static double bound(int64_t n, double largest) {
    return 4 * std::sqrt(static_cast<double>(n)) * kEpsilon * largest;
  }
};

using Numbers = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Systems, Numbers);

TYPED_TEST(Systems, LuFactorsMakeTheMatrix) {
  using T = TypeParam;
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {33, 33}, {100, 100}, {90, 37}, {37, 90}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << columns);
    const int64_t count = std::min(rows, columns);
    const auto a = random_values<T>(rows * columns, 7);
    Call call;
    call.tensor(kDtype<T>, {rows, columns}, a).add(EValue(true)).add(EValue(true));
    call.tensor(kDtype<T>, {rows, columns}, this->zeros(rows * columns));
    call.tensor(Dtype::INT32, {count}, std::vector<int32_t>(static_cast<size_t>(count)));
    call.tensor(Dtype::INT32, {}, std::vector<int32_t>(1));
    ASSERT_EQ(call.run("aten::linalg_lu_factor_ex", "out"), ETB_OK) << call.message();
    const auto lu = TestFixture::Matrix::read(rows, columns, call.result<T>(3));
    auto expected = this->read(a, rows, columns);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < columns; ++j)
        std::swap(expected.at(i, j), expected.at(call.result<int32_t>(4)[i] - 1, j));
    const auto found =
        lu.block(rows, count).triangle(false, true) * lu.block(count, columns).triangle(true, false);
    EXPECT_LT(found.distance(expected), this->bound(count, lu.largest()));
  }
}

TYPED_TEST(Systems, CholeskyFactorsMakeTheMatrix) {
  using T = TypeParam;
  for (const int64_t n : {1, 6, 49, 160})
    for (const bool is_upper : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << (is_upper ? " upper" : " lower"));
      auto a = this->symmetric(n, true, true);
      const auto expected = this->read(a, n, n);
      for (int64_t i = 0; i < n; ++i)  // the other triangle is not read
        for (int64_t j = 0; j < n; ++j)
          if (is_upper ? j < i : j > i) a[static_cast<size_t>(i * n + j)] = T(1e6f);
      Call call;
      call.tensor(kDtype<T>, {n, n}, a).add(EValue(is_upper)).add(EValue(true));
      call.tensor(kDtype<T>, {n, n}, this->zeros(n * n)).tensor(Dtype::INT32, {}, std::vector<int32_t>(1));
      ASSERT_EQ(call.run("aten::linalg_cholesky_ex", "L"), ETB_OK) << call.message();
      const auto factor = TestFixture::Matrix::read(n, n, call.result<T>(3));
      const auto turned = factor.transposed(true);
      EXPECT_LT((is_upper ? turned * factor : factor * turned).distance(expected),
                this->bound(n, expected.largest()));
      EXPECT_EQ(factor.distance(factor.triangle(is_upper, false)), 0);
    }
}

TYPED_TEST(Systems, LdlFactorsSolveSystems) {
  using T = TypeParam;
  for (const int64_t n : {1, 2, 9, 70})
    for (const bool is_hermitian : {false, true})
      for (const bool is_hollow : {false, true}) {  // blocks of two rows
        if (is_hollow && n == 1) continue;
        SCOPED_TRACE(testing::Message()
                     << n << (is_hermitian ? " hermitian" : "") << (is_hollow ? " hollow" : ""));
        auto a = this->symmetric(n, is_hermitian, false);
        for (int64_t i = 0; is_hollow && i < n; ++i) a[static_cast<size_t>(i * n + i)] = T(0);
        const auto b = random_values<T>(n * 3, 11);
        Call factor;
        factor.tensor(kDtype<T>, {n, n}, a).add(EValue(is_hermitian)).add(EValue(true));
        factor.tensor(kDtype<T>, {n, n}, this->zeros(n * n));
        factor.tensor(Dtype::INT32, {n}, std::vector<int32_t>(static_cast<size_t>(n)));
        factor.tensor(Dtype::INT32, {}, std::vector<int32_t>(1));
        ASSERT_EQ(factor.run("aten::linalg_ldl_factor_ex", "out"), ETB_OK) << factor.message();
        Call solve;
        solve.tensor(kDtype<T>, {n, n}, std::vector<T>(factor.result<T>(3), factor.result<T>(3) + n * n));
        solve.tensor(Dtype::INT32, {n},
                     std::vector<int32_t>(factor.result<int32_t>(4), factor.result<int32_t>(4) + n));
        solve.tensor(kDtype<T>, {n, 3}, b)
            .add(EValue(is_hermitian))
            .tensor(kDtype<T>, {n, 3}, this->zeros(n * 3));
        ASSERT_EQ(solve.run("aten::linalg_ldl_solve", "out"), ETB_OK) << solve.message();
        const auto x = TestFixture::Matrix::read(n, 3, solve.result<T>(4));
        const auto matrix = this->read(a, n, n);
        EXPECT_LT((matrix * x).distance(this->read(b, n, 3)),
                  this->bound(n, static_cast<double>(n) * matrix.largest() * std::max(1.0, x.largest())));
      }
}

TYPED_TEST(Systems, TriangularSystemsHaveSmallResiduals) {
  using T = TypeParam;
  constexpr int64_t n = 75;
  auto a = random_values<T>(n * n, 13);
  for (int64_t i = 0; i < n * n; ++i)
    a[static_cast<size_t>(i)] *= static_cast<T>(i % (n + 1) == 0 ? 2.0f : 0.1f);
  for (const int64_t columns : {1, 2, 5, 13, 40})
    for (int kind = 0; kind < 8; ++kind) {
      const bool is_upper = (kind & 1) != 0, is_left = (kind & 2) != 0, is_unit = (kind & 4) != 0;
      SCOPED_TRACE(testing::Message() << columns << (is_upper ? " upper" : " lower")
                                      << (is_left ? " left" : " right") << (is_unit ? " unit" : ""));
      const int64_t rows_of_b = is_left ? n : columns, columns_of_b = is_left ? columns : n;
      const auto b = random_values<T>(n * columns, 17);
      Call call;
      call.tensor(kDtype<T>, {n, n}, a).tensor(kDtype<T>, {rows_of_b, columns_of_b}, b);
      call.add(EValue(is_upper)).add(EValue(is_left)).add(EValue(is_unit));
      call.tensor(kDtype<T>, {rows_of_b, columns_of_b}, this->zeros(n * columns));
      ASSERT_EQ(call.run("aten::linalg_solve_triangular", "out"), ETB_OK) << call.message();
      const auto x = TestFixture::Matrix::read(rows_of_b, columns_of_b, call.result<T>(5));
      const auto triangle = this->read(a, n, n).triangle(is_upper, is_unit);
      EXPECT_LT((is_left ? triangle * x : x * triangle).distance(this->read(b, rows_of_b, columns_of_b)),
                this->bound(n, triangle.largest() * std::max(1.0, x.largest())));
    }
}

TYPED_TEST(Systems, LuFactorsSolveSystemsOfTheAdjoint) {
  using T = TypeParam;
  constexpr int64_t n = 70;
  const auto a = random_values<T>(n * n, 19);
  Call factor;
  factor.tensor(kDtype<T>, {n, n}, a)
      .add(EValue(true))
      .add(EValue(true))
      .tensor(kDtype<T>, {n, n}, this->zeros(n * n));
  factor.tensor(Dtype::INT32, {n}, std::vector<int32_t>(n)).tensor(Dtype::INT32, {}, std::vector<int32_t>(1));
  ASSERT_EQ(factor.run("aten::linalg_lu_factor_ex", "out"), ETB_OK) << factor.message();
  for (const int64_t columns : {1, 3})
    for (const bool is_left : {false, true})
      for (const bool is_adjoint : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << columns << (is_left ? " left" : " right") << (is_adjoint ? " adjoint" : ""));
        const int64_t rows_of_b = is_left ? n : columns, columns_of_b = is_left ? columns : n;
        const auto b = random_values<T>(n * columns, 23);
        Call solve;
        solve.tensor(kDtype<T>, {n, n}, std::vector<T>(factor.result<T>(3), factor.result<T>(3) + n * n));
        solve.tensor(Dtype::INT32, {n},
                     std::vector<int32_t>(factor.result<int32_t>(4), factor.result<int32_t>(4) + n));
        solve.tensor(kDtype<T>, {rows_of_b, columns_of_b}, b).add(EValue(is_left)).add(EValue(is_adjoint));
        solve.tensor(kDtype<T>, {rows_of_b, columns_of_b}, this->zeros(n * columns));
        ASSERT_EQ(solve.run("aten::linalg_lu_solve", "out"), ETB_OK) << solve.message();
        const auto x = TestFixture::Matrix::read(rows_of_b, columns_of_b, solve.result<T>(5));
        const auto plain = this->read(a, n, n), matrix = is_adjoint ? plain.transposed(true) : plain;
        EXPECT_LT((is_left ? matrix * x : x * matrix).distance(this->read(b, rows_of_b, columns_of_b)),
                  this->bound(n, 8 * plain.largest() * std::max(1.0, x.largest())));
      }
}

TEST(ComplexSystems, OtherDtypesBesideComplexOnesAreRejected) {
  const std::vector<float> four(4), eight(8);
  Call call;
  call.tensor(Dtype::COMPLEX64, {2, 2}, eight).tensor(Dtype::FLOAT32, {2, 2}, four);
  call.add(EValue(true)).add(EValue(true)).add(EValue(false)).tensor(Dtype::COMPLEX64, {2, 2}, eight);
  EXPECT_EQ(call.run("aten::linalg_solve_triangular", "out"), ETB_INVALID_TYPE);
  EXPECT_THAT(call.message(), HasSubstr("float32 beside complex64, expected one dtype"));
  Call narrow;
  narrow.tensor(Dtype::COMPLEX32, {1, 1}, std::vector<float>(1))
      .tensor(Dtype::COMPLEX32, {1, 1}, std::vector<float>(1));
  EXPECT_EQ(narrow.run("aten::linalg_matrix_exp", "out"), ETB_INVALID_TYPE);
  EXPECT_THAT(narrow.message(), HasSubstr("a matrix of complex32"));
}

}  // namespace
}  // namespace etb::host
