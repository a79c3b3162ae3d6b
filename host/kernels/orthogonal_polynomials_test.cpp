// SPDX-License-Identifier: Apache-2.0
// Orthogonal polynomials against values with 40 digits.
#include "host/kernels/orthogonal_polynomials.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace etb::host {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// The error model: the result's own rounding, that of x times the slope there, and for n steps the same once more for each.
TEST(OrthogonalPolynomials, AreExactToTheLastDigits) {
  const struct {
    const char* name;
    double (*function)(double, double) noexcept;
    double x, n, exact;
  } rows[] = {
      {"chebyshev_t", special::chebyshev_t, 0.3, 5.0, 0.998879999999999997},
      {"chebyshev_t", special::chebyshev_t, -0.7, 40.0, 0.921050607316497613},
      {"chebyshev_t", special::chebyshev_t, 0.99, 100.0, -0.0167796037916986974},
      {"chebyshev_t", special::chebyshev_t, -0.99, 1001.0, 0.952533670283123824},
      {"chebyshev_t", special::chebyshev_t, 1.5, 7.0, 421.5},
      {"chebyshev_t", special::chebyshev_t, -1.25, 101.0, -1.2676506002282294e+30},
      {"chebyshev_t", special::chebyshev_t, 1.0, 77.0, 1.0},
      {"chebyshev_t", special::chebyshev_t, -1.0, 78.0, 1.0},
      {"shifted_chebyshev_t", special::shifted_chebyshev_t, 0.25, 9.0, 1.0},
      {"chebyshev_u", special::chebyshev_u, 0.3, 5.0, 1.01376000000000001},
      {"chebyshev_u", special::chebyshev_u, -0.7, 40.0, 1.30278101108780395},
      {"chebyshev_u", special::chebyshev_u, 0.99, 100.0, 7.00015629009045823},
      {"chebyshev_u", special::chebyshev_u, -0.99, 1001.0, 3.08902309812553396},
      {"chebyshev_u", special::chebyshev_u, 1.5, 7.0, 987.0},
      {"chebyshev_u", special::chebyshev_u, -1.25, 101.0, -3.38040160060861174e+30},
      {"chebyshev_u", special::chebyshev_u, 1.0, 77.0, 78.0},
      {"chebyshev_u", special::chebyshev_u, -1.0, 78.0, 79.0},
      {"shifted_chebyshev_u", special::shifted_chebyshev_u, 0.25, 9.0, 1.0},
      {"chebyshev_v", special::chebyshev_v, 0.3, 5.0, 0.964159999999999954},
      {"chebyshev_v", special::chebyshev_v, -0.7, 40.0, 1.84811015933252732},
      {"chebyshev_v", special::chebyshev_v, 0.99, 100.0, -0.0876577441339427703},
      {"chebyshev_v", special::chebyshev_v, -0.99, 1001.0, 5.24709322725928159},
      {"chebyshev_v", special::chebyshev_v, 1.5, 7.0, 610.0},
      {"chebyshev_v", special::chebyshev_v, -1.25, 101.0, -5.07060240091291761e+30},
      {"chebyshev_v", special::chebyshev_v, 1.0, 77.0, 1.0},
      {"chebyshev_v", special::chebyshev_v, -1.0, 78.0, 157.0},
      {"shifted_chebyshev_v", special::shifted_chebyshev_v, 0.25, 9.0, 1.0},
      {"chebyshev_w", special::chebyshev_w, 0.3, 5.0, 1.06336000000000008},
      {"chebyshev_w", special::chebyshev_w, -0.7, 40.0, 0.757451862843080577},
      {"chebyshev_w", special::chebyshev_w, 0.99, 100.0, 14.0879703243148592},
      {"chebyshev_w", special::chebyshev_w, -0.99, 1001.0, 0.930952968991786328},
      {"chebyshev_w", special::chebyshev_w, 1.5, 7.0, 1364.0},
      {"chebyshev_w", special::chebyshev_w, -1.25, 101.0, -1.69020080030430587e+30},
      {"chebyshev_w", special::chebyshev_w, 1.0, 77.0, 155.0},
      {"chebyshev_w", special::chebyshev_w, -1.0, 78.0, 1.0},
      {"shifted_chebyshev_w", special::shifted_chebyshev_w, 0.25, 9.0, 1.0},
      {"hermite_h", [](double x, double n) noexcept { return special::hermite_h(x, n); }, 0.3, 5.0,
       31.7577599999999991},
      {"hermite_h", [](double x, double n) noexcept { return special::hermite_h(x, n); }, 2.5, 30.0,
       -4.47338496635748213e+21},
      {"hermite_h", [](double x, double n) noexcept { return special::hermite_h(x, n); }, -3.25, 101.0,
       -8.14947893361270629e+96},
      {"hermite_he", [](double x, double n) noexcept { return special::hermite_he(x, n); }, 0.3, 5.0,
       4.23242999999999986},
      {"hermite_he", [](double x, double n) noexcept { return special::hermite_he(x, n); }, 2.5, 30.0,
       -12968983091684141.3},
      {"hermite_he", [](double x, double n) noexcept { return special::hermite_he(x, n); }, -3.25, 101.0,
       -3.57238314968651266e+80},
      {"laguerre_l", special::laguerre_l, 0.3, 5.0, -0.093332749999999973},
      {"laguerre_l", special::laguerre_l, 2.5, 30.0, -0.414045374100357099},
      {"laguerre_l", special::laguerre_l, -3.25, 101.0, 81751138298023.7705},
      {"laguerre_l", special::laguerre_l, 20.0, 7.0, -1018.36507936507937},
      {"legendre_p", special::legendre_p, 0.3, 5.0, 0.345386250000000002},
      {"legendre_p", special::legendre_p, -0.75, 1000.0, 0.0300034374796471194},
      {"legendre_p", special::legendre_p, 1.5, 30.0, 384761001199.079912},
      {"legendre_p", special::legendre_p, -1.0, 101.0, -1.0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.x);
    SCOPED_TRACE(row.n);
    constexpr double kStep = 1e-7;
    const double slope =
        (row.function(row.x * (1 + kStep), row.n) - row.function(row.x * (1 - kStep), row.n)) / (2 * kStep);
    const double bound = 4 * kEpsilon * (row.n * std::abs(row.exact) + std::abs(slope));
    EXPECT_NEAR(row.function(row.x, row.n), row.exact, bound) << row.name;
  }
}

TEST(OrthogonalPolynomials, ReturnPyTorchsValuesForDegreesThatAreNone) {
  EXPECT_EQ(special::chebyshev_t(0.5, -1), 0);
  EXPECT_EQ(special::chebyshev_t(0.5, kNan), 0);
  EXPECT_EQ(special::legendre_p(0.5, 1e19), 0);
  EXPECT_EQ(special::laguerre_l(0.5, -0.5), 1);  // cut to 0
  EXPECT_EQ(special::hermite_h(0.5, 1.9), 1);    // cut to 1
  EXPECT_TRUE(std::isnan(special::hermite_he(0.5, 129, 128)));
  EXPECT_TRUE(std::isnan(special::chebyshev_u(kNan, 3)));
}

TEST(OrthogonalPolynomials, OverflowToInfinityWithTheSignOfTheLeadingTerm) {
  EXPECT_EQ(special::chebyshev_t(-1e200, 3), -kInfinity);
  EXPECT_EQ(special::chebyshev_w(-kInfinity, 4), kInfinity);
  EXPECT_EQ(special::chebyshev_u(-kInfinity, 1001), -kInfinity);
  EXPECT_EQ(special::chebyshev_v(1.5, 1e18), kInfinity);
  EXPECT_EQ(special::legendre_p(-1e300, 7), -kInfinity);
  EXPECT_EQ(special::laguerre_l(1e200, 5), -kInfinity);
  EXPECT_EQ(special::laguerre_l(-1e200, 5), kInfinity);
  EXPECT_EQ(special::hermite_h(-kInfinity, 5), -kInfinity);
}

TEST(OrthogonalPolynomials, OfHostileDegreesTakeBoundedTime) {
  const auto begin = std::chrono::steady_clock::now();
  double sum = 0;
  for (const double n : {65536.0, 65537.0, 1e9, 9e18})
    for (const double x : {0.5, 1.0000000001, -3.0})
      sum += special::chebyshev_t(x, n) + special::legendre_p(x, n) + special::laguerre_l(x, n);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 1.0) << sum;
}

}  // namespace
}  // namespace etb::host
