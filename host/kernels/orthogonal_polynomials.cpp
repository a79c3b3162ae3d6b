// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/orthogonal_polynomials.hpp"

#include <cmath>
#include <limits>

namespace etb::host::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// -1 for the polynomial 0.
double degree_of(double n) { return n > -1 && n < 0x1p63 ? std::trunc(n) + 0.0 : -1; }

bool is_odd(double degree) { return std::fmod(degree, 2) != 0; }

// Polynomial `degree` from those of degree 0 and 1: p[k + 1] = next(k, p[k], p[k - 1]).
template <class Next>
double recur(double degree, double first, double second, Next next) {
  if (degree == 0) return first;
  double before = first, now = second;
  for (double k = 1; k < degree && !std::isnan(now); ++k) {
    const double after = next(k, now, before);
    before = now;
    now = after;
  }
  return now;
}

// A recurrence that overflows ends in infinity minus infinity. Beyond all zeros the sign is that of the leading term.
double with_overflow(double value, double x, double largest_zero, bool is_negative) {
  if (!std::isnan(value) || !(std::abs(x) > largest_zero)) return value;
  return is_negative ? -kInfinity : kInfinity;
}

enum class Kind { kFirst, kSecond, kThird, kFourth };

// Polynomials of a high degree by their definition, cos(n t) and so on with x = cos t. For x > 1 the functions are hyperbolic.
double chebyshev_by_angle(Kind kind, double x, double n) {
  if (x < 0) {  // symmetric; the third kind turns into the fourth
    const Kind mirrored = kind == Kind::kThird ? Kind::kFourth : kind == Kind::kFourth ? Kind::kThird : kind;
    const double value = chebyshev_by_angle(mirrored, -x, n);
    return is_odd(n) ? -value : value;
  }
  const bool is_round = x <= 1;
  const double angle = is_round ? std::acos(x) : std::acosh(x);
  const auto cosine = [&](double a) { return is_round ? std::cos(a) : std::cosh(a); };
  const auto sine = [&](double a) { return is_round ? std::sin(a) : std::sinh(a); };
  const auto ratio = [&](double over, double under) {
    // sinh exceeds the largest number before the quotient does.
    return over < 700 || is_round ? sine(over) / sine(under) : std::exp(over - std::log(2 * sine(under)));
  };
  if (kind == Kind::kFirst) return cosine(n * angle);
  if (kind == Kind::kSecond) return angle == 0 ? n + 1 : ratio((n + 1) * angle, angle);
  if (kind == Kind::kThird) return cosine((n + 0.5) * angle) / cosine(angle / 2);
  return angle == 0 ? 2 * n + 1 : ratio((n + 0.5) * angle, angle / 2);
}

double chebyshev(Kind kind, double x, double n) {
  constexpr double kMaxRecurred = 64;
  n = degree_of(n);
  if (n < 0) return 0;
  if (n > kMaxRecurred)
    return std::isinf(x) ? (x < 0 && is_odd(n) ? -kInfinity : kInfinity) : chebyshev_by_angle(kind, x, n);
  const double second = kind == Kind::kFirst    ? x
                        : kind == Kind::kSecond ? x + x
                        : kind == Kind::kThird  ? x + x - 1
                                                : x + x + 1;
  const double value =
      recur(n, 1, second, [x](double, double now, double before) { return 2 * x * now - before; });
  return with_overflow(value, x, 1, x < 0 && is_odd(n));
}

}  // namespace

double chebyshev_t(double x, double n) noexcept { return chebyshev(Kind::kFirst, x, n); }
double chebyshev_u(double x, double n) noexcept { return chebyshev(Kind::kSecond, x, n); }
double chebyshev_v(double x, double n) noexcept { return chebyshev(Kind::kThird, x, n); }
double chebyshev_w(double x, double n) noexcept { return chebyshev(Kind::kFourth, x, n); }
double shifted_chebyshev_t(double x, double n) noexcept { return chebyshev_t(x + x - 1, n); }
double shifted_chebyshev_u(double x, double n) noexcept { return chebyshev_u(x + x - 1, n); }
double shifted_chebyshev_v(double x, double n) noexcept { return chebyshev_v(x + x - 1, n); }
double shifted_chebyshev_w(double x, double n) noexcept { return chebyshev_w(x + x - 1, n); }

double hermite_h(double x, double n, double max_degree) noexcept {
  n = degree_of(n);
  if (n < 0) return 0;
  if (n > max_degree) return kNan;
  const double value =
      recur(n, 1, x + x, [x](double k, double now, double before) { return 2 * (x * now - k * before); });
  return with_overflow(value, x, std::sqrt(2 * n + 1), x < 0 && is_odd(n));
}

double hermite_he(double x, double n, double max_degree) noexcept {
  n = degree_of(n);
  if (n < 0) return 0;
  if (n > max_degree) return kNan;
  const double value =
      recur(n, 1, x, [x](double k, double now, double before) { return x * now - k * before; });
  return with_overflow(value, x, 2 * std::sqrt(n + 0.5), x < 0 && is_odd(n));
}

double laguerre_l(double x, double n) noexcept {
  n = degree_of(n);
  if (n < 0) return 0;
  if (n > kMaxStepDegree) return kNan;
  const double value = recur(n, 1, 1 - x, [x](double k, double now, double before) {
    return ((2 * k + 1 - x) * now - k * before) / (k + 1);
  });
  return with_overflow(value, x, x < 0 ? 0 : 4 * n + 2, x > 0 && is_odd(n));
}

double legendre_p(double x, double n) noexcept {
  n = degree_of(n);
  if (n < 0) return 0;
  if (n > kMaxStepDegree) return kNan;
  const double value = recur(n, 1, x, [x](double k, double now, double before) {
    return ((2 * k + 1) * x * now - k * before) / (k + 1);
  });
  return with_overflow(value, x, 1, x < 0 && is_odd(n));
}

}  // namespace etb::host::special
