// SPDX-License-Identifier: Apache-2.0
// The precision contract: the precision that a plugin declares. Error bounds follow from it. The suite checks
// it.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/tensor_data.hpp"
#include "etb/cpp/result.hpp"

namespace etb::conformance {

// Precision that a plugin declares in its manifest for some ops and element types ("precision",
// docs/verify.md). All matching rows apply.
struct PrecisionRow {
  std::vector<std::string> ops;          // patterns; none: all
  std::vector<etb_dtype> dtypes;         // none: all floating ones
  std::optional<etb_dtype> accumulator;  // type of sums and intermediates
  double ulps = 0;                       // minimum, for functions other than sums
  double ulps_of_one = 0;                // minimum in units of the number 1, for small results
  bool flushes_subnormals = false;
  bool is_finite_only = false;  // NaN, infinities and the sign of zero are not kept
  double largest = HUGE_VAL;    // results are unspecified for larger operands
  double codes = 0;             // a code may be one off where its real number is this near to a tie
};

// Default: floating tensors of 16 and 32 bits compute in float32, float64 in float64. If `inputs` is not the
// stored dtype, operands of contractions are first rounded to it.
struct PrecisionContract {
  etb_dtype inputs = ETB_DTYPE_FLOAT32;
  etb_dtype accumulator = ETB_DTYPE_FLOAT32;
  double ulps = 0;
  double ulps_of_one = 0;
  bool flushes_subnormals = false;
  bool is_finite_only = false;
  double largest = HUGE_VAL;
  double codes = 0;
  std::vector<PrecisionRow> rows;

  // For tensors of this dtype.
  etb_dtype inputs_of(etb_dtype dtype) const;
  etb_dtype accumulator_of(etb_dtype dtype) const;
  // Returns the contract for a graph of these ops on this dtype, with its rows applied and removed.
  PrecisionContract narrowed(const std::vector<std::string>& ops, etb_dtype dtype) const;
};

// Parses "f32", "f16:f32" (inputs cut to float16, float32 accumulator), with suffix ":ftz" if subnormals are
// flushed.
[[nodiscard]] Result<PrecisionContract> parse_contract(const std::string& text);
std::string to_text(const PrecisionContract& contract);  // without the rows
std::string to_text(const PrecisionRow& row);

}  // namespace etb::conformance
