// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/special_functions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace etb::host::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kPi = std::numbers::pi;

// B(2k) for k from 1.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
                                 -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};

// Sum of a series whose term k + 1 is term k times ratio(k), until a term no longer counts.
template <class Ratio>
double sum_series(double first, Ratio ratio, int max_terms = 2000) {
  double sum = first, term = first;
  for (int k = 0; k < max_terms && std::abs(term) > std::abs(sum) * kEpsilon / 4; ++k)
    sum += term *= ratio(k);
  return sum;
}

// The same for an asymptotic series, which ends where its terms grow again.
template <class Ratio>
double sum_asymptotic(double first, Ratio ratio) {
  double sum = first, term = first;
  for (int k = 0; k < 200; ++k) {
    const double next = term * ratio(k);
    if (!(std::abs(next) < std::abs(term)) || std::abs(next) < std::abs(sum) * kEpsilon / 4) break;
    sum += term = next;
  }
  return sum;
}

// Bessel functions: power series up to here, the expansion for large arguments beyond.
constexpr double kLarge = 30;

// I of order 0 or 1 at x in [0, kLarge].
double bessel_i_series(int order, double x) {
  const double quarter = x * x / 4;
  return sum_series(order == 0 ? 1.0 : x / 2,
                    [&](int k) { return quarter / ((k + 1.0) * (k + 1.0 + order)); });
}
// The factor that I or K differ in from exp(+-x) / sqrt(2 pi x), or sqrt(pi / 2x); sign is -1 for I and 1 for K.
double bessel_expansion(int order, double x, double sign) {
  const double mu = 4.0 * order * order;
  return sum_asymptotic(1.0, [&](int k) {
    const double odd = 2 * k + 1;
    return sign * (mu - odd * odd) / (8.0 * (k + 1) * x);
  });
}
double bessel_i_scaled(int order, double x) {
  if (x <= kLarge) return bessel_i_series(order, x) * std::exp(-x);
  if (std::isinf(x)) return 0;
  return bessel_expansion(order, x, -1) / std::sqrt(2 * kPi * x);
}
// exp(x) / 2 twice, because exp(x) overflows before the result does.
double bessel_i(int order, double x) {
  if (x <= kLarge) return bessel_i_series(order, x);
  const double half = std::exp(x / 2);
  return bessel_i_scaled(order, x) * half * half;
}

// exp(x) K(x) for 1 <= x <= kLarge: the integral over t of exp(-x (cosh t - 1)) cosh(order t). The error of the trapezoidal rule is
// below exp(x - pi^2 / step).
double bessel_k_integral(int order, double x) {
  constexpr double kStep = 1.0 / 8;
  const double growth = std::exp(kStep);
  double sum = 0.5, power = 1;
  for (int i = 1; i < 200; ++i) {
    power *= growth;  // exp(t)
    const double hyperbolic = (power + 1 / power) / 2;
    const double weight = std::exp(-x * (power - 1) * (power - 1) / (2 * power));
    const double term = order == 0 ? weight : weight * hyperbolic;
    sum += term;
    if (term < sum * kEpsilon / 16) break;
  }
  return sum * kStep;
}
// K(x) for 0 < x < 1.
double bessel_k_series(int order, double x) {
  const double quarter = x * x / 4, logarithm = std::log(x / 2) + std::numbers::egamma;
  double factor = 1, harmonic = 0, sum = 0;
  if (order == 0) {
    for (int k = 1; k < 30; ++k) {
      factor *= quarter / (static_cast<double>(k) * k);
      sum += factor * (harmonic += 1.0 / k);
    }
    return sum - logarithm * bessel_i_series(0, x);
  }
  for (int k = 0; k < 30; ++k) {
    sum += factor * (2 * harmonic + 1.0 / (k + 1));
    harmonic += 1.0 / (k + 1);
    factor *= quarter / ((k + 1.0) * (k + 2.0));
  }
  return 1 / x + logarithm * bessel_i_series(1, x) - x / 4 * sum;
}
double bessel_k_scaled(int order, double x) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNan;
  if (x < 1) return bessel_k_series(order, x) * std::exp(x);
  if (x < kLarge) return bessel_k_integral(order, x);
  return std::sqrt(kPi / (2 * x)) * bessel_expansion(order, x, 1);
}
double bessel_k(int order, double x) { return bessel_k_scaled(order, x) * std::exp(-x); }

// x^a exp(-x) / gamma(a + 1), a factor of both incomplete gamma functions. For large a Stirling's formula avoids the difference of
// large logarithms.
double gamma_density(double a, double x) {
  if (a < 10) return std::pow(x, a) * std::exp(-x) / std::tgamma(a + 1);
  const double distance = (x - a) / a;
  const double logarithm = std::abs(distance) < 0.5 ? std::log1p(distance) : std::log(x / a);
  const double exponent = a * (logarithm - distance);
  double correction = 0, power = 1 / a;
  for (int k = 1; k <= 8; ++k, power /= a * a)
    correction += kBernoulli[k - 1] / (2.0 * k * (2 * k - 1)) * power;
  return std::exp(exponent - correction) / std::sqrt(2 * kPi * a);
}

double lower_series(double a, double x) {
  return gamma_density(a, x) * sum_series(
                                   1.0, [&](int k) { return x / (a + k + 1); }, 10000);
}
// Lentz's algorithm for the continued fraction of the upper function.
double upper_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, h = d;
  for (int i = 1; i < 10000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    if (std::abs(c) < kTiny) c = kTiny;
    h *= d * c;
    if (std::abs(d * c - 1) < kEpsilon) break;
  }
  return h * a * gamma_density(a, x);
}

// The upper function for small a and x, where 1 - lower loses all digits.
double upper_series(double a, double x) {
  // log gamma(1 + a) for tiny a, where 1 + a is 1: the first terms of its series.
  const double log_gamma = a < 1e-5 ? a * (a * (kPi * kPi / 12) - std::numbers::egamma) : lgamma(a + 1);
  const double logarithm = a * std::log(x) - log_gamma;
  double power = 1, sum = 0;
  for (int n = 1; n < 60; ++n) {
    power *= -x / n;
    sum += power / (a + n);
  }
  return -std::expm1(logarithm) - std::exp(logarithm) * a * sum;
}

// The upper function for large a by its normal approximation with the first term of Temme's expansion.
double upper_of_large(double a, double x) {
  const double distance = (x - a) / a;
  const double square = 2 * (distance - std::log1p(distance));
  const double eta = std::copysign(std::sqrt(std::max(square, 0.0)), distance);
  const double first =
      std::abs(eta) < 0.01 ? -1.0 / 3 + eta / 12 - 2 * eta * eta / 135 : 1 / distance - 1 / eta;
  const double density = std::exp(-a * eta * eta / 2) / std::sqrt(2 * kPi * a);
  return std::erfc(eta * std::sqrt(a / 2)) / 2 + density * first;
}

// Values at the ends of the domain; false inside of it. PyTorch's order of questions decides where NaN counts.
bool is_gamma_limit(double a, double x, double* lower) {
  if (a < 0 || x < 0 || (a == 0 && !(x > 0)) || (std::isinf(a) && std::isinf(x)))
    *lower = kNan;
  else if (a == 0)
    *lower = 1;
  else if (x == 0 || std::isinf(a))
    *lower = 0;
  else if (std::isinf(x))
    *lower = 1;
  else if (a != a || x != x)
    *lower = kNan;
  else
    return false;
  return true;
}

// exp(x^2) with the digits that the rounding of x^2 loses.
double exp_of_square(double x) {
  const double square = x * x;
  return std::exp(square) * (1 + std::fma(x, x, -square));
}

// The root y > 0 of erfc(y) = tail for 0 < tail <= 1, by Halley's method from an estimate with 3 digits.
double inverse_erfc(double tail) {
  constexpr double kA = 0.147;
  const double w = std::log(tail * (2 - tail)), u = 2 / (kPi * kA) + w / 2;
  double y = std::sqrt(std::max(std::sqrt(u * u - w / kA) - u, 0.0));
  for (int i = 0; i < 10; ++i) {
    const double density = 2 * std::numbers::inv_sqrtpi * std::exp(-y * y);
    if (density == 0) break;
    const double error = (std::erfc(y) - tail) / density, step = error / (1 - y * error);
    y += step;
    if (std::abs(step) < y * kEpsilon) break;
  }
  return y;
}

// exp(z) K(z) of order 1/3, as bessel_k_integral.
double bessel_k_third_scaled(double z) {
  if (z > kLarge)
    return std::sqrt(kPi / (2 * z)) * sum_asymptotic(1.0, [z](int k) {
             const double odd = 2 * k + 1;
             return (4.0 / 9 - odd * odd) / (8.0 * (k + 1) * z);
           });
  constexpr double kStep = 1.0 / 8;
  double sum = 0.5;
  for (int i = 1; i < 200; ++i) {
    const double t = i * kStep, half = std::sinh(t / 2);
    const double term = std::exp(-2 * z * half * half) * std::cosh(t / 3);
    sum += term;
    if (term < sum * kEpsilon / 16) break;
  }
  return sum * kStep;
}

// The solution of y'' = x y between -10 and 1, from its value and slope at 0 by Taylor's series in steps.
double airy_ai_by_steps(double x) {
  constexpr double kMaxStep = 0.5;
  double value = 0.355028053887817239, slope = -0.258819403792806798;
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(x) / kMaxStep)));
  const double step = x / steps;
  for (int i = 0; i < steps; ++i) {
    const double from = step * i;
    double before = 0, now = value, next = slope;  // coefficients k - 1, k and k + 1
    double new_value = value + slope * step, new_slope = slope, power = step;
    for (int k = 0; k < 28; ++k) {
      const double after = (from * now + before) / ((k + 1.0) * (k + 2.0));
      new_slope += (k + 2) * after * power;
      power *= step;
      new_value += after * power;
      before = now, now = next, next = after;
    }
    value = new_value, slope = new_slope;
  }
  return value;
}

// For x below -10: an oscillation whose amplitude and phase are asymptotic series.
double airy_ai_oscillating(double x) {
  const double z = -x, phase = 2.0 / 3 * z * std::sqrt(z);
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 40; ++k) {
    const double next = term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * phase);
    if (!(next < term) || next < kEpsilon / 4) break;
    term = next;
    (k % 2 == 0 ? even : odd) += k / 2 % 2 == 0 ? term : -term;
  }
  const double angle = phase - kPi / 4;
  return (std::cos(angle) * even + std::sin(angle) * odd) / (std::sqrt(kPi) * std::sqrt(std::sqrt(z)));
}

}  // namespace

double lgamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

double digamma(double x) noexcept {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x < 0) {
    if (x == std::floor(x)) return kNan;
    const double fraction = x - std::trunc(x);
    return digamma(1 - x) - kPi / std::tan(kPi * fraction);
  }
  double result = 0;
  for (; x < 12; ++x) result -= 1 / x;
  if (std::isinf(x)) return x;
  const double square = 1 / (x * x);
  double power = square, tail = 0;
  for (int k = 1; k <= 8; ++k, power *= square) tail += kBernoulli[k - 1] / (2 * k) * power;
  return result + std::log(x) - 0.5 / x - tail;
}

double zeta(double s, double q) noexcept {
  if (s == 1) return kInfinity;
  if (s < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNan;  // a power of a negative number
    if (q < -1000) {                      // the negative terms are those of two positive arguments
      const double fraction = q - std::floor(q);
      const double negative = zeta(s, 1 - fraction) - zeta(s, 1 - q);
      return zeta(s, fraction) + (std::fmod(s, 2) == 0 ? negative : -negative);
    }
  }
  // Euler's and Maclaurin's formula after the first terms.
  double sum = 0;
  constexpr int kTerms = 12;
  int k = 0;
  for (; k < kTerms || q + k <= 12; ++k) {
    const double term = std::pow(q + k, -s);
    sum += term;
    if (q + k > 0 && term < sum * kEpsilon / 4) return sum;
  }
  const double a = q + k;
  double power = std::pow(a, -s);
  sum += power * a / (s - 1) + power / 2;
  double factor = s / a;
  double factorial = 2;
  for (int j = 1; j <= 10; ++j) {
    const double term = kBernoulli[j - 1] / factorial * factor * power;
    sum += term;
    if (std::abs(term) < std::abs(sum) * kEpsilon / 4) break;
    factor *= (s + 2 * j - 1) * (s + 2 * j) / (a * a);
    factorial *= (2 * j + 1.0) * (2 * j + 2);
  }
  return sum;
}

double polygamma(double n, double x) noexcept {
  if (n == 0) return digamma(x);
  if (!(n > 0) || n != std::floor(n)) return kNan;
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(lgamma(n + 1)) * zeta(n + 1, x);
}

double igamma(double a, double x) noexcept {
  double limit = 0;
  if (is_gamma_limit(a, x, &limit)) return limit;
  if (a > 1e6) return 1 - upper_of_large(a, x);
  return x < a + 1 ? lower_series(a, x) : 1 - upper_fraction(a, x);
}
double igammac(double a, double x) noexcept {
  double limit = 0;
  if (is_gamma_limit(a, x, &limit)) return 1 - limit;
  if (a > 1e6) return upper_of_large(a, x);
  const bool is_small = x <= 1.1 && (x <= 0.5 ? a < -0.4 / std::log(x) : a < 1.1 * x);
  if (is_small) return upper_series(a, x);
  return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

double erfinv(double x) noexcept {
  const double magnitude = std::abs(x);
  if (!(magnitude <= 1)) return kNan;
  if (magnitude == 1) return std::copysign(kInfinity, x);
  // 1 - x is exact from 1/2 on. Below it would lose the digits of x, so the equation is of erf.
  if (magnitude >= 0.5) return std::copysign(inverse_erfc(1 - magnitude), x);
  double y = x * (std::sqrt(kPi) / 2) * (1 + kPi * x * x / 12);
  for (int i = 0; i < 4; ++i) {
    const double error = (std::erf(y) - x) / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= error / (1 + y * error);
  }
  return y;
}

double erfcx(double x) noexcept {
  if (x < 0) return x < -26.7 ? kInfinity : 2 * exp_of_square(x) - erfcx(-x);
  if (x > 10) {
    const double square = 1 / (2 * x * x);
    return std::numbers::inv_sqrtpi / x * sum_asymptotic(1.0, [&](int k) { return -(2 * k + 1) * square; });
  }
  return exp_of_square(x) * std::erfc(x);
}

double ndtri(double p) noexcept {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNan;
  if (p > 0.25 && p < 0.75) return std::numbers::sqrt2 * erfinv(2 * (p - 0.5));
  return p < 0.5 ? -std::numbers::sqrt2 * inverse_erfc(2 * p)
                 : std::numbers::sqrt2 * inverse_erfc(2 * (1 - p));
}

double log_ndtr(double x) noexcept {
  const double scaled = x / std::numbers::sqrt2;
  if (x < -1) return std::log(erfcx(-scaled) / 2) - scaled * scaled;
  return std::log1p(-std::erfc(scaled) / 2);
}

double j0(double x) noexcept { return ::j0(x); }
double j1(double x) noexcept { return ::j1(x); }
double y0(double x) noexcept { return ::y0(x); }
double y1(double x) noexcept { return ::y1(x); }

double i0(double x) noexcept { return bessel_i(0, std::abs(x)); }
double i0e(double x) noexcept { return bessel_i_scaled(0, std::abs(x)); }
double i1(double x) noexcept { return std::copysign(bessel_i(1, std::abs(x)), x); }
double i1e(double x) noexcept { return std::copysign(bessel_i_scaled(1, std::abs(x)), x); }
double k0(double x) noexcept { return bessel_k(0, x); }
double k0e(double x) noexcept { return bessel_k_scaled(0, x); }
double k1(double x) noexcept { return bessel_k(1, x); }
double k1e(double x) noexcept { return bessel_k_scaled(1, x); }

double airy_ai(double x) noexcept {
  if (!std::isfinite(x)) return kNan;
  if (x < -10) return airy_ai_oscillating(x);
  if (x < 1) return airy_ai_by_steps(x);
  const double z = 2.0 / 3 * x * std::sqrt(x);
  return std::sqrt(x / 3) / kPi * bessel_k_third_scaled(z) * std::exp(-z);
}

}  // namespace etb::host::special
