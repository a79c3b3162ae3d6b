// SPDX-License-Identifier: Apache-2.0
// Special functions against mpmath's values with 40 digits.
#include "host/kernels/special_functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace etb::host {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The error model: 16 roundings, each of the result or of an argument. An argument's counts times the function's condition there,
// |x f'(x) / f(x)|, which a difference of neighbours measures. Never more than 2e-14.
template <class Function>
void expect_close(const char* name, Function function, double x, double exact) {
  constexpr double kStep = 1e-6;
  const double slope = (function(x * (1 + kStep)) - function(x * (1 - kStep))) / (2 * kStep);
  const double condition = exact == 0 ? 0 : std::abs(slope / exact);
  const double relative = std::min(16 * std::numeric_limits<double>::epsilon() * (1 + condition), 2e-14);
  EXPECT_NEAR(function(x), exact, relative * std::abs(exact) + 1e-16) << name;
}

TEST(SpecialFunctions, OfOneArgumentAreExactToTheLastDigits) {
  const struct {
    const char* name;
    double (*function)(double) noexcept;
    double x, exact;
  } rows[] = {
      {"lgamma", special::lgamma, -2.5, -0.0562437164976740507},
      {"lgamma", special::lgamma, 0.1, 2.2527126517342059},
      {"lgamma", special::lgamma, 1e-09, 20.7232658363691954},
      {"lgamma", special::lgamma, 7.0, 6.579251212010101},
      {"lgamma", special::lgamma, 50.0, 144.565743946344886},
      {"digamma", special::digamma, -2.3, 3.31732315756182274},
      {"digamma", special::digamma, 0.1, -10.4237549404110762},
      {"digamma", special::digamma, 1.4616321449683622, -9.24126552172942752e-17},
      {"digamma", special::digamma, 5.0, 1.50611766843180047},
      {"digamma", special::digamma, 1000.0, 6.90725519564881205},
      {"erfinv", special::erfinv, -0.999999, -3.45891073727549878},
      {"erfinv", special::erfinv, -0.3, -0.272462714726754345},
      {"erfinv", special::erfinv, 1e-10, 8.86226925452758046e-11},
      {"erfinv", special::erfinv, 0.5, 0.476936276204469873},
      {"erfinv", special::erfinv, 0.9, 1.16308715367667416},
      {"erfcx", special::erfcx, -3.0, 16205.9888539995866},
      {"erfcx", special::erfcx, 0.0, 1.0},
      {"erfcx", special::erfcx, 0.5, 0.615690344192925875},
      {"erfcx", special::erfcx, 8.0, 0.0699851662008809277},
      {"erfcx", special::erfcx, 30.0, 0.0187958888614167515},
      {"ndtri", special::ndtri, 1e-20, -9.26234008979840758},
      {"ndtri", special::ndtri, 0.01, -2.32634787404084109},
      {"ndtri", special::ndtri, 0.3, -0.524400512708040816},
      {"ndtri", special::ndtri, 0.5000001, 2.5066282733116483e-7},
      {"ndtri", special::ndtri, 0.999, 3.09023230616781328},
      {"log_ndtr", special::log_ndtr, -30.0, -454.321243956343197},
      {"log_ndtr", special::log_ndtr, -2.0, -3.78318433368203195},
      {"log_ndtr", special::log_ndtr, 0.0, -0.693147180559945309},
      {"log_ndtr", special::log_ndtr, 1.5, -0.069143455612233983},
      {"log_ndtr", special::log_ndtr, 6.0, -9.86587645524375732e-10},
      {"i0", special::i0, 0.0, 1.0},
      {"i0", special::i0, 0.5, 1.06348337074132352},
      {"i0", special::i0, -10.0, 2815.71662846625447},
      {"i0", special::i0, 29.9, 708478330489.014526},
      {"i0", special::i0, 30.1, 862432920031.779212},
      {"i0", special::i0, 700.0, 1.52959334767187374e+302},
      {"i0e", special::i0e, 0.5, 0.645035270449150068},
      {"i0e", special::i0e, -10.0, 0.127833337163428607},
      {"i0e", special::i0e, 30.1, 0.0730232941310609419},
      {"i0e", special::i0e, 1000.0, 0.0126172404558912566},
      {"i1", special::i1, 0.5, 0.257894305390896316},
      {"i1", special::i1, -10.0, -2670.98830370125465},
      {"i1", special::i1, 29.9, 696528308361.092694},
      {"i1", special::i1, 30.1, 847983630191.541427},
      {"i1e", special::i1e, 0.5, 0.156420803184871697},
      {"i1e", special::i1e, -10.0, -0.121262681384455519},
      {"i1e", special::i1e, 1000.0, 0.0126109302569286295},
      {"k0", special::k0, 1e-05, 11.6288569809443622},
      {"k0", special::k0, 0.9, 0.486730308162900506},
      {"k0", special::k0, 1.1, 0.365602391543185835},
      {"k0", special::k0, 29.9, 2.36065802785080821e-14},
      {"k0", special::k0, 31.0, 7.71838265552761538e-15},
      {"k0e", special::k0e, 0.5, 1.52410938577390953},
      {"k0e", special::k0e, 5.0, 0.547807564313518987},
      {"k0e", special::k0e, 1000.0, 0.0396283216007542171},
      {"k1", special::k1, 1e-05, 99999.9999393557069},
      {"k1", special::k1, 0.9, 0.716533578776019046},
      {"k1", special::k1, 1.1, 0.509760027167026975},
      {"k1", special::k1, 29.9, 2.39981434777217528e-14},
      {"k1", special::k1, 31.0, 7.84189960083406338e-15},
      {"k1e", special::k1e, 0.5, 2.73100970821178571},
      {"k1e", special::k1e, 5.0, 0.600273858788312583},
      {"k1e", special::k1e, 1000.0, 0.0396481308129602105},
      {"airy_ai", special::airy_ai, -20.5, -0.0446256803970119098},
      {"airy_ai", special::airy_ai, -10.5, -0.311926035051050601},
      {"airy_ai", special::airy_ai, -9.75, 0.252624762596343356},
      {"airy_ai", special::airy_ai, -5.0, 0.35076100902411432},
      {"airy_ai", special::airy_ai, -2.25, 0.0615986587770052775},
      {"airy_ai", special::airy_ai, -0.5, 0.475728091610539589},
      {"airy_ai", special::airy_ai, 0.0, 0.355028053887817239},
      {"airy_ai", special::airy_ai, 0.5, 0.23169360648083349},
      {"airy_ai", special::airy_ai, 1.0, 0.135292416312881416},
      {"airy_ai", special::airy_ai, 3.5, 0.00258409878698963496},
      {"airy_ai", special::airy_ai, 9.0, 2.47116843087248984e-9},
      {"airy_ai", special::airy_ai, 12.5, 2.39682782607804994e-14},
      {"airy_ai", special::airy_ai, 40.0, 6.36574265855291491e-75},
      {"airy_ai", special::airy_ai, 100.0, 2.63448215208818449e-291},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.x);
    expect_close(row.name, row.function, row.x, row.exact);
  }
}

TEST(SpecialFunctions, OfTwoArgumentsAreExactToTheLastDigits) {
  const struct {
    const char* name;
    double (*function)(double, double) noexcept;
    double x, y, exact;
  } rows[] = {
      {"igamma", special::igamma, 0.5, 0.3, 0.561421973919000136},
      {"igamma", special::igamma, 3.0, 10.0, 0.997230604284488424},
      {"igamma", special::igamma, 80.0, 70.0, 0.129099250101241478},
      {"igamma", special::igamma, 0.001, 0.1, 0.998178009737950276},
      {"igammac", special::igammac, 0.5, 0.3, 0.438578026080999864},
      {"igammac", special::igammac, 3.0, 10.0, 0.00276939571551157594},
      {"igammac", special::igammac, 80.0, 100.0, 0.01745132251627543},
      {"igammac", special::igammac, 1e-08, 0.1, 1.82292394908870395e-8},
      {"zeta", special::zeta, 2.0, 1.0, 1.64493406684822644},
      {"zeta", special::zeta, 1.5, 0.1, 34.0529755150756003},
      {"zeta", special::zeta, 5.0, 3.5, 0.00283316664611380681},
      {"zeta", special::zeta, 2.0, -0.5, 8.93480220054467931},
      {"zeta", special::zeta, 2.0, -2000.75, 19.7387091144939239},
      {"zeta", special::zeta, 3.0, -123456.25, -62.0125533605668353},
      {"polygamma", special::polygamma, 1.0, 0.5, 4.93480220054467931},
      {"polygamma", special::polygamma, 1.0, -1.3, 14.5368762441370796},
      {"polygamma", special::polygamma, 3.0, 4.5, 0.0303225085423665869},
      {"polygamma", special::polygamma, 2.0, 20.0, -0.00262812240231465459},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.x);
    SCOPED_TRACE(row.y);
    expect_close(
        row.name, [&](double y) { return row.function(row.x, y); }, row.y, row.exact);
  }
}

TEST(SpecialFunctions, ReturnPyTorchsValuesAtTheEndsOfTheDomain) {
  EXPECT_EQ(special::digamma(0.0), -kInfinity);
  EXPECT_EQ(special::digamma(-0.0), kInfinity);
  EXPECT_TRUE(std::isnan(special::digamma(-3)));
  EXPECT_EQ(special::erfinv(1), kInfinity);
  EXPECT_TRUE(std::isnan(special::erfinv(1.5)));
  EXPECT_EQ(special::ndtri(0), -kInfinity);
  EXPECT_EQ(special::k0(0), kInfinity);
  EXPECT_TRUE(std::isnan(special::k1(-1)));
  EXPECT_TRUE(std::isnan(special::i0(kInfinity)));
  EXPECT_EQ(special::i1e(kInfinity), 0);
  EXPECT_EQ(special::zeta(1, 3), kInfinity);
  EXPECT_EQ(special::zeta(3, -2), kInfinity);
  EXPECT_TRUE(std::isnan(special::zeta(0.5, 3)));
  EXPECT_EQ(special::igamma(0, 1), 1);
  EXPECT_EQ(special::igammac(2, 0), 1);
  EXPECT_EQ(special::igamma(kInfinity, 1), 0);
  EXPECT_TRUE(std::isnan(special::igamma(0, 0)));
  EXPECT_TRUE(std::isnan(special::igamma(-1, 1)));
  EXPECT_TRUE(std::isnan(special::igamma(2, kNan)));
  EXPECT_TRUE(std::isnan(special::polygamma(1.5, 2)));
}

}  // namespace
}  // namespace etb::host
