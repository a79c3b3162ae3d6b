// Value sets: what inputs hold.
#pragma once

#include <cstdint>
#include <string_view>

#include "conformance/cases/tensor_data.hpp"

namespace etb::conformance {

// Equal seeds give equal numbers on every machine (SplitMix64).
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
  kExact,  // small integers, of which sums and products are exact
  kSparse,  // odd numbers of 13 bits, or (second operand) mostly zeros and ones: shows inputs that are cut to fewer bits
  kStatistical,  // spread over the domain
  kPositive,     // the same, without signs: errors of one direction add up
  kSpecial,      // NaN, infinities, zeros of both signs, subnormals, largest and smallest
  kTies,         // halves, for rounding
  kEvery,        // of 65,536 elements: every number of 16 bits, one float32 for each of its upper halves
};
const char* to_text(Values values);

// Where an op is defined, for statistical values.
struct Domain {
  double low = -4;
  double high = 4;
};

// `operand` numbers the inputs of a case: special values of two operands run through all pairs.
TensorData make_values(const Shape& shape, Values values, const Domain& domain, uint32_t operand,
                       Random& random);

}  // namespace etb::conformance
