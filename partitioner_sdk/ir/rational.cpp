// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/ir/rational.hpp"

#include <cmath>

namespace etb::ir {

namespace {

constexpr int64_t kLargestSize = 1 << 16, kLargestDenominator = 1 << 20;
constexpr double kLargestValue = 1 << 30;

// The product of floats is rounded. It matters where the exact product is an integer: everywhere else the next integer is
// at least one part of the denominator away.
bool rounds_alike(double value, const Rational& r, Rounding rounding) {
  const double error =
      std::fabs(value - static_cast<double>(r.numerator) / static_cast<double>(r.denominator));
  const double part = 1 / static_cast<double>(r.denominator), largest = static_cast<double>(kLargestSize);
  if (!((error + std::fabs(value) * 0x1p-51) * largest < part / 4)) return false;
  for (int64_t size = 0; size <= kLargestSize; size += r.denominator) {
    const double product = value * static_cast<double>(size);
    const auto exact = static_cast<double>(size / r.denominator * r.numerator);
    if (rounding == Rounding::kDown ? product < exact : rounding == Rounding::kUp && product > exact)
      return false;
  }
  return true;
}

}  // namespace

std::optional<Rational> find_rational(double value, Rounding rounding) {
  if (!(std::fabs(value) <= kLargestValue)) return std::nullopt;
  // Convergents of the continued fraction.
  int64_t before[2] = {0, 1}, now[2] = {1, 0};
  double rest = value;
  for (int step = 0; step < 40; ++step) {
    const double whole = std::floor(rest);
    if (!(std::fabs(whole) <= kLargestValue)) return std::nullopt;
    const auto factor = static_cast<int64_t>(whole);
    int64_t next[2];
    for (int i = 0; i < 2; ++i) {
      if (__builtin_mul_overflow(factor, now[i], &next[i]) ||
          __builtin_add_overflow(next[i], before[i], &next[i]))
        return std::nullopt;
      before[i] = now[i];
      now[i] = next[i];
    }
    if (now[1] > kLargestDenominator) return std::nullopt;
    if (const Rational found{now[0], now[1]}; rounds_alike(value, found, rounding)) return found;
    if (rest == whole) return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

std::optional<Dim> scaled_size(SymbolTable& symbols, Dim size, double scale) {
  if (!(scale >= 0)) return std::nullopt;
  if (size.is_static()) {
    const double product = static_cast<double>(size.value()) * scale;
    if (!(product < 0x1p62)) return std::nullopt;
    return Dim(static_cast<int64_t>(product));
  }
  const auto fraction = find_rational(scale, Rounding::kDown);
  if (!fraction) return std::nullopt;
  return symbols.floor_div(symbols.mul(size, fraction->numerator), fraction->denominator);
}

}  // namespace etb::ir
