// The precision contract: what a plugin says it computes in. Bounds follow from it; it is checked, not trusted.
#pragma once

#include <string>

#include "conformance/cases/tensor_data.hpp"
#include "etb/cpp/result.hpp"

namespace etb::conformance {

// Without one, floating tensors of 16 and 32 bits are computed in float32 and float64 in float64. `inputs` other than the stored dtype means
// that operands of contractions are cut to it first.
struct PrecisionContract {
  etb_dtype inputs = ETB_DTYPE_FLOAT32;
  etb_dtype accumulator = ETB_DTYPE_FLOAT32;
  bool flushes_subnormals = false;

  // For tensors of this dtype.
  etb_dtype inputs_of(etb_dtype dtype) const;
  etb_dtype accumulator_of(etb_dtype dtype) const;
  bool is_reduced() const { return inputs != ETB_DTYPE_FLOAT32 || accumulator != ETB_DTYPE_FLOAT32; }
};

// "f32", "f16:f32" (inputs cut to float16, float32 accumulator), with ":ftz" behind when subnormals are flushed.
[[nodiscard]] Result<PrecisionContract> parse_contract(const std::string& text);
std::string to_text(const PrecisionContract& contract);

}  // namespace etb::conformance
