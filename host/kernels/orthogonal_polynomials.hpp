// SPDX-License-Identifier: Apache-2.0
// Orthogonal polynomials in double, by degree. The degree is cut to an integer; a negative one, NaN, and one of 2^63 or more is the
// polynomial 0, as in PyTorch.
#pragma once

namespace etb::host::special {

// Chebyshev polynomials of the first to fourth kind, and the same of 2x - 1.
double chebyshev_t(double x, double n) noexcept;
double chebyshev_u(double x, double n) noexcept;
double chebyshev_v(double x, double n) noexcept;
double chebyshev_w(double x, double n) noexcept;
double shifted_chebyshev_t(double x, double n) noexcept;
double shifted_chebyshev_u(double x, double n) noexcept;
double shifted_chebyshev_v(double x, double n) noexcept;
double shifted_chebyshev_w(double x, double n) noexcept;

// Hermite polynomials of physicists and of probabilists; NaN beyond `max_degree`.
inline constexpr double kMaxHermiteDegree = 512;
double hermite_h(double x, double n, double max_degree = kMaxHermiteDegree) noexcept;
double hermite_he(double x, double n, double max_degree = kMaxHermiteDegree) noexcept;

// NaN beyond this degree: the time of one element has a bound.
inline constexpr double kMaxStepDegree = 65536;
double laguerre_l(double x, double n) noexcept;
double legendre_p(double x, double n) noexcept;

}  // namespace etb::host::special
