// The precision contract: what a plugin says it computes in. Bounds follow from it; it is checked, not trusted.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "conformance/cases/tensor_data.hpp"
#include "etb/cpp/result.hpp"

namespace etb::conformance {

// What a plugin declares of some ops and element types, in its manifest ("precision", docs/verify.md). Rows that fit add up.
struct PrecisionRow {
  std::vector<std::string> ops;          // patterns; none: all
  std::vector<etb_dtype> dtypes;         // none: all floating ones
  std::optional<etb_dtype> accumulator;  // what sums and intermediates are computed in
  double ulps = 0;                       // at least so many for functions that are no sums
  double ulps_of_one = 0;                // and so many of the number 1, where a result is small
  bool flushes_subnormals = false;
  bool is_finite_only = false;  // NaN, infinities and the sign of zero are not kept
  double largest = HUGE_VAL;    // operands above it give anything
};

// Without one, floating tensors of 16 and 32 bits are computed in float32 and float64 in float64. `inputs` other than the stored dtype means
// that operands of contractions are cut to it first.
struct PrecisionContract {
  etb_dtype inputs = ETB_DTYPE_FLOAT32;
  etb_dtype accumulator = ETB_DTYPE_FLOAT32;
  double ulps = 0;
  double ulps_of_one = 0;
  bool flushes_subnormals = false;
  bool is_finite_only = false;
  double largest = HUGE_VAL;
  std::vector<PrecisionRow> rows;

  // For tensors of this dtype.
  etb_dtype inputs_of(etb_dtype dtype) const;
  etb_dtype accumulator_of(etb_dtype dtype) const;
  // What holds for a graph of these ops on this dtype: no rows are left in it.
  PrecisionContract narrowed(const std::vector<std::string>& ops, etb_dtype dtype) const;
};

// "f32", "f16:f32" (inputs cut to float16, float32 accumulator), with ":ftz" behind when subnormals are flushed.
[[nodiscard]] Result<PrecisionContract> parse_contract(const std::string& text);
std::string to_text(const PrecisionContract& contract);  // of all but the rows
std::string to_text(const PrecisionRow& row);

}  // namespace etb::conformance
