// SPDX-License-Identifier: Apache-2.0
// Value sets for inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "conformance/cases/tensor_data.hpp"

namespace etb::conformance {

// Equal seeds produce equal numbers on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::string_view name);
  uint64_t next();
  double uniform();                            // [0, 1)
  int64_t between(int64_t low, int64_t high);  // both included

 private:
  uint64_t state_;
};

enum class Values {
  kExact,   // small integers, whose sums and products are exact
  kSparse,  // odd 13-bit numbers, or (second operand) mostly zeros and ones: detects inputs cut to fewer bits
  kStatistical,  // spread over the domain
  kPositive,     // kStatistical without signs: errors of one direction add up
  kSpecial,      // NaN, infinities, zeros of both signs, subnormals, largest and smallest
  kTies,         // halves, for rounding
  kEvery,        // 65,536 elements: every 16-bit number; for float32, one number for each upper half
  kFew,          // three different numbers, so that many elements are equal
  kOffset,       // a large mean with a small spread: a variance as a difference of squares loses its digits
  kSpread,       // magnitudes from e^-6 to e^6, of both signs; for 16-bit floats from e^-3 to e^3
  kSmall,        // up to 1/32: a variance that is not large beside eps
  kNan,          // kStatistical with a NaN in every seventh place; integers have their extremes there
  kNonFinite,    // kStatistical with one NaN and both infinities in operand 0
};
const char* to_text(Values values);

// Domain of an op, for statistical values.
struct Domain {
  double low = -4;
  double high = 4;
};

// `operand` numbers the inputs of a case: special values of two operands cover all pairs.
TensorData make_values(const Shape& shape, Values values, const Domain& domain, uint32_t operand,
                       Random& random);

// Returns a tensor whose element i is element(i), in memory order.
TensorData filled(const Shape& shape, const std::function<double(int64_t)>& element);

}  // namespace etb::conformance
