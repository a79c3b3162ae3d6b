// SPDX-License-Identifier: Apache-2.0
// Arguments and values of quantised cases.
#pragma once

#include <functional>

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design.hpp"

namespace etb::conformance {

// The codes of a quantised tensor.
struct CodeRange {
  etb_dtype dtype = ETB_DTYPE_INT8;
  int64_t low = -128, high = 127;
};

TensorData filled(const Shape& shape, const std::function<double(int64_t)>& element);

// Returns the arguments of quantize_per_tensor and dequantize_per_tensor.
std::vector<graph::ArgumentDesc> tensor_quant_args(uint32_t x, double scale, int64_t zero_point,
                                                   const CodeRange& codes);

// Adds nodes that compute the codes of `y` as reals, so that the judge knows how near to a tie each was.
uint32_t real_codes(CaseBuilder& builder, uint32_t y, double scale, int64_t zero_point,
                    const CodeRange& codes, const Shape& real);

void add_quantised_layers(CaseList& out);  // between codes
void add_dynamic_layers(CaseList& out);    // inputs quantised at run time

}  // namespace etb::conformance
