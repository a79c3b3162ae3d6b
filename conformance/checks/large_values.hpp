// SPDX-License-Identifier: Apache-2.0
// Graphs whose contexts hold much memory: large values between nodes, or what ops keep for themselves, as tables of the
// pixels of windows.
#pragma once

#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {

// Several values that are needed until the end, a chain, one node, a sum with a constant, a chain between codes of 8 bits,
// or one node with large tables or packed operands.
enum class Large { kWide, kChain, kOneNode, kConstant, kCodes, kWindow, kFilter, kResize, kProducts };

struct LargeForm {
  Large form;
  const char* name;  // of measured bytes
  int64_t elements;  // of a value
  // Elements of a value in the run before, which loads what the process loads once. Drivers compile kernels for images again
  // if those are much larger.
  int64_t first_elements = 64;
  uint64_t element_bytes = sizeof(float);
};
inline constexpr LargeForm kLargeForms[] = {
    {Large::kWide, "wide_context", 1 << 20},
    {Large::kChain, "context", 1 << 20},
    {Large::kOneNode, "context", 1 << 20},
    {Large::kConstant, "context_with_constant", 1 << 20},
    {Large::kCodes, "context_of_codes", 1 << 23, 64, 1},
    {Large::kWindow, "context_of_window", 1 << 18, 1 << 16},
    {Large::kFilter, "context_of_filter", 1 << 18, 1 << 16},
    {Large::kResize, "context_of_resize", 1 << 18, 1 << 16},
    {Large::kProducts, "context_of_products", 1 << 20, 1 << 18}};

// `elements`: a power of two with an even exponent, for images.
Result<BuiltCase> with_large_values(Large form, int64_t elements);

// Returns the bytes of the inputs and outputs of a run with the largest sizes, without constants.
uint64_t nbytes_of_runs(const BuiltCase& built);

}  // namespace etb::conformance
