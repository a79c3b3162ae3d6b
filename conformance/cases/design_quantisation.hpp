// SPDX-License-Identifier: Apache-2.0
// Arguments and nodes of quantised cases.
#pragma once

#include "conformance/cases/design.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {

// The codes of a quantised tensor.
struct CodeRange {
  etb_dtype dtype = ETB_DTYPE_INT8;
  int64_t low = -128, high = 127;

  Domain domain() const { return {static_cast<double>(low), static_cast<double>(high)}; }
};
inline constexpr CodeRange kInt8{ETB_DTYPE_INT8, -128, 127}, kUint8{ETB_DTYPE_UINT8, 0, 255},
    kWeightCodes{ETB_DTYPE_INT8, -127, 127}, kInt16{ETB_DTYPE_INT16, -32768, 32767};

inline constexpr const char* kQuantise = "quantized_decomposed.quantize_per_tensor.default";
inline constexpr const char* kDequantise = "quantized_decomposed.dequantize_per_tensor.default";

// Returns the arguments of quantize_per_tensor and dequantize_per_tensor.
std::vector<graph::ArgumentDesc> tensor_quant_args(uint32_t x, double scale, int64_t zero_point,
                                                   const CodeRange& codes);

// Returns the arguments of quantize_per_channel and dequantize_per_channel.
std::vector<graph::ArgumentDesc> channel_quant_args(uint32_t x, uint32_t scales, uint32_t zeros, int64_t axis,
                                                    const CodeRange& codes);

// True for a power of two, with which quotients are exact.
bool is_power(double scale);

// Adds nodes that compute the codes of `y` as reals, so that the judge knows how near to a tie each was. Returns the last
// one's result.
uint32_t add_real_codes(FormNodes& nodes, uint32_t y, double scale, int64_t zero_point,
                        const CodeRange& codes, const Shape& real);

}  // namespace etb::conformance
