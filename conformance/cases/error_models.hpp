// SPDX-License-Identifier: Apache-2.0
// Rules of comparison for common kinds of ops.
#pragma once

#include "conformance/cases/case.hpp"
#include "conformance/cases/values.hpp"

namespace etb::conformance {

ErrorModel error_model_of(Rule rule, double ulps, double steps = 0);
ErrorModel exact_model(Rule rule = Rule::kExact);
ErrorModel rounded_model(double ulps, double steps = 0, const Magnitude& magnitude = nullptr);

// The rule for sums of `length` products of these values. Integers of kExact and kSparse have exact sums.
ErrorModel sum_model(Values values, int64_t length, int64_t addend_count = 0);

// The rule for means of `count` elements: a product with 1 / count, which is rounded before, shifts all results
// in one direction.
ErrorModel mean_model(double count);

// The rule for codes. The reference is the real number before it was rounded.
ErrorModel code_model(int64_t zero_point);

// The rule for codes of 16 bits: `codes` is the error of a real code before it is rounded. Multipliers have 15 bits or more.
ErrorModel wide_code_model(int64_t zero_point, double codes);

// True if every partial sum of `length` products of these values is a number of the dtype.
bool is_exact_sum(etb_dtype dtype, Values values, int64_t length);

// Returns the set, or kStatistical where the dtype cannot hold sums of its numbers exactly, or it is an
// integer and the set has fractions.
Values fitting_values(etb_dtype dtype, Values values, int64_t length);

// Returns the largest absolute value of all inputs, twice: a magnitude for intermediates of sums of two.
std::vector<double> twice_the_largest(const std::vector<TensorData>& inputs);

// Returns a magnitude that does not depend on the inputs.
Magnitude fixed_magnitude(double magnitude);

}  // namespace etb::conformance
