// SPDX-License-Identifier: Apache-2.0
// Special functions in double: compiled once, called by the loops of every kind of CPU. Values at poles, infinities and outside of
// a function's domain are PyTorch's.
#pragma once

namespace etb::host::special {

double lgamma(double x) noexcept;          // log |gamma(x)|
double digamma(double x) noexcept;         // derivative of log gamma(x)
double zeta(double s, double q) noexcept;  // Hurwitz: sum over k of (k + q)^-s
// Derivative number n of digamma; n is an integer >= 0, else the result is NaN.
double polygamma(double n, double x) noexcept;

// Regularised incomplete gamma functions: lower and upper.
double igamma(double a, double x) noexcept;
double igammac(double a, double x) noexcept;

double erfinv(double x) noexcept;
double erfcx(double x) noexcept;     // exp(x^2) erfc(x)
double ndtri(double p) noexcept;     // inverse of the normal distribution function
double log_ndtr(double x) noexcept;  // its logarithm

// Bessel functions of order 0 and 1, of the first and second kind: libm's.
double j0(double x) noexcept;
double j1(double x) noexcept;
double y0(double x) noexcept;
double y1(double x) noexcept;

// Modified Bessel functions of order 0 and 1; ...e are scaled by exp(-|x|) and exp(x).
double i0(double x) noexcept;
double i0e(double x) noexcept;
double i1(double x) noexcept;
double i1e(double x) noexcept;
double k0(double x) noexcept;
double k0e(double x) noexcept;
double k1(double x) noexcept;
double k1e(double x) noexcept;

double airy_ai(double x) noexcept;

}  // namespace etb::host::special
