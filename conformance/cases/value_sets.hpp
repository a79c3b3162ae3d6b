// SPDX-License-Identifier: Apache-2.0
// Value sets of designed cases: those of values.hpp, and others that show faults of sums and norms.
#pragma once

#include "conformance/cases/case.hpp"
#include "conformance/cases/values.hpp"

namespace etb::conformance {

enum class ValueSet {
  kExact,
  kSparse,
  kStatistical,
  kPositive,
  kOffset,     // a large mean with a small spread: a variance as a difference of squares loses its digits
  kWide,       // magnitudes from e^-6 to e^6, of both signs
  kSmall,      // up to 1/32: a variance that is not large beside eps
  kNonFinite,  // statistical, with one NaN and both infinities in operand 0
};
const char* to_text(ValueSet set);

// `operand` numbers the inputs of a case, as for make_values.
TensorData make_set(const Shape& shape, ValueSet set, const Domain& domain, uint32_t operand, Random& random);

// True if every partial sum of `length` products of these values is a number of the dtype.
bool is_exact_sum(etb_dtype dtype, ValueSet set, int64_t length);

// Returns the set, or kStatistical where the dtype cannot hold sums of its numbers exactly, or it is an
// integer and the set has fractions.
ValueSet fitting_set(etb_dtype dtype, ValueSet set, int64_t length);

// The rule for sums of `length` products of these values.
ErrorModel sum_model(ValueSet set, int64_t length);

}  // namespace etb::conformance
