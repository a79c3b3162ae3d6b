// SPDX-License-Identifier: Apache-2.0
// Scales of sizes as fractions. Exported programs compute a size as the product of an integer and a float, rounded to an
// integer; formulas of sizes have integers only.
#pragma once

#include "partitioner_sdk/ir/symbols.hpp"

namespace etb::ir {

struct Rational {
  int64_t numerator = 0, denominator = 1;
};

enum class Rounding { kDown, kUp, kNearest };

// Returns a fraction whose products with the sizes 0 to 65,536 round to the same integers as the products of floats do.
// Nullopt if there is none with a denominator of at most 2^20, or `value` exceeds 2^30.
std::optional<Rational> find_rational(double value, Rounding rounding);

// Returns `size * scale` rounded down, as PyTorch computes the size of a scaled image; nullopt for a scale that is no such
// fraction, or is negative.
std::optional<Dim> scaled_size(SymbolTable& symbols, Dim size, double scale);

}  // namespace etb::ir
